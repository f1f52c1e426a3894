// The hostile files of the reference implementation's own tests, and more of the kind. Each must be refused, with the
// reason that is meant.

#include <catch2/catch_test_macros.hpp>

#include "storage/safetensors/safetensors.h"
#include "unit/storage/safetensors_sample.h"

namespace esper::test::safetensors_hostile_test {

using namespace esper::storage;
using namespace esper::test;

namespace {

void check_refused(const std::string& file, const std::string& reason) {
  const auto parsed = parse_safetensors(bytes_of(file));
  INFO(file.substr(0, 300));
  CHECK_FALSE(parsed);
  INFO(parsed.error_or({}).problem);
  CHECK(parsed.error().problem.find(reason) != std::string::npos);
}

void check_header_refused(const std::string& header, const std::string& reason, std::size_t data_bytes = 0) {
  check_refused(raw_safetensors(header, data_bytes), reason);
}

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::vector<std::byte> bytes;
  append_little_endian(bytes, length);
  return std::string(text_of(bytes)) + rest;
}

std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

}  // namespace

TEST_CASE("header_too_small: under 8 bytes") {
  check_refused("", "under 8 bytes");
  for (std::size_t length = 1; length < 8; ++length) check_refused(std::string(length, '\0'), "under 8 bytes");
}

TEST_CASE("header_too_large: over 100 MB") {
  check_refused(with_length(100'000'001, "{}"), "over 100 MB");
  check_refused(with_length(UINT64_MAX, "{}"), "over 100 MB");
  check_refused("<<<<<<<<", "over 100 MB");
}

TEST_CASE("invalid_header_length: beyond the file") {
  check_refused(with_length(60, "{}"), "beyond the end");
  check_refused(with_length(3, "{}"), "beyond the end");
  check_refused(with_length(100'000'000, "{}"), "beyond the end");
}

TEST_CASE("non_utf8 and not_json") {
  check_header_refused("\xff", "'{'");
  check_header_refused("{\"\xff\":{}}", "not JSON in UTF-8");
  check_header_refused("{\"\xc0\xaf\":{}}", "not JSON in UTF-8");
  check_header_refused("{\"\xed\xa0\x80\":{}}", "not JSON in UTF-8");
  check_header_refused("{", "not JSON in UTF-8");
  check_header_refused("{\"a\":", "not JSON in UTF-8");
  check_header_refused("{}x", "not JSON in UTF-8");
  check_header_refused("{}{}", "not JSON in UTF-8");
  check_header_refused("{/* */}", "not JSON in UTF-8");
  check_header_refused("{\"a\nb\":{}}", "not JSON in UTF-8");
}

TEST_CASE("the header starts with a brace") {
  check_header_refused("", "'{'");
  check_header_refused(" {}", "'{'");
  check_header_refused("\xef\xbb\xbf{}", "'{'");
  check_header_refused("[]", "'{'");
  check_header_refused("null", "'{'");
}

TEST_CASE("a zero byte hides nothing behind it") {
  check_header_refused(std::string("{}\0     ", 8), "zero byte");
  check_header_refused(std::string("{}\0{\"a\":1}", 10), "zero byte");
}

TEST_CASE("json_attack: keys twice") {
  check_header_refused(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
      "twice", 2);
  check_header_refused(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
      "twice", 2);
  check_header_refused(R"({"__metadata__":{},"__metadata__":{}})", "twice");
  check_header_refused(R"({"__metadata__":{"k":"1","k":"2"}})", "twice");
  check_header_refused(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "duplicate field", 1);
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"shape":[],"data_offsets":[0,1]}})", "duplicate field", 1);
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]}})",
                       "duplicate field", 1);
}

TEST_CASE("json_attack: the same bytes for many tensors") {
  std::string header = "{";
  for (int i = 0; i < 100; ++i) {
    header += "\"w" + std::to_string(i) + R"(":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)";
  }
  header.back() = '}';
  check_header_refused(header, "overlaps", 16);
}

TEST_CASE("json_attack: nesting as deep as you like") {
  std::string nested = "{\"a\":";
  for (int i = 0; i < 1'000'000; ++i) nested += '[';
  check_header_refused(nested, "unexpected list");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  check_header_refused(objects, "unknown field");
  check_header_refused(one_tensor("U8", "[[1]]", "[0,1]"), "unexpected list", 1);
}

TEST_CASE("values of other kinds than the format has") {
  check_header_refused(R"({"a":null})", "null");
  check_header_refused(R"({"a":1})", "unexpected number");
  check_header_refused(R"({"a":"b"})", "unexpected string");
  check_header_refused(R"({"a":true})", "unexpected boolean");
  check_header_refused(R"({"a":[]})", "unexpected list");
  check_header_refused(R"({"__metadata__":[]})", "unexpected list");
  check_header_refused(R"({"__metadata__":"x"})", "unexpected string");
  check_header_refused(R"({"__metadata__":{"k":1}})", "unexpected number");
  check_header_refused(R"({"__metadata__":{"k":null}})", "null");
  check_header_refused(R"({"__metadata__":{"k":{}}})", "unexpected object");
  check_header_refused(R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,1]}})", "unexpected number", 1);
  check_header_refused(R"({"a":{"dtype":{},"shape":[],"data_offsets":[0,1]}})", "unexpected object", 1);
  check_header_refused(one_tensor("U8", "[\"1\"]", "[0,1]"), "unexpected string", 1);
  check_header_refused(one_tensor("U8", "1", "[0,1]"), "unexpected number", 1);
  check_header_refused(one_tensor("U8", "[{}]", "[0,1]"), "unexpected object", 1);
}

TEST_CASE("numbers that are no counts") {
  check_header_refused(one_tensor("U8", "[-1]", "[0,1]"), "a negative number", 1);
  check_header_refused(one_tensor("U8", "[1.0]", "[0,1]"), "63-bit", 1);
  check_header_refused(one_tensor("U8", "[1e0]", "[0,1]"), "63-bit", 1);
  check_header_refused(one_tensor("U8", "[9223372036854775808]", "[0,1]"), "63-bit", 1);
  check_header_refused(one_tensor("U8", "[99999999999999999999999]", "[0,1]"), "63-bit", 1);
  check_header_refused(one_tensor("U8", "[1]", "[-1,0]"), "a negative number", 1);
  check_header_refused(one_tensor("U8", "[01]", "[0,1]"), "not JSON", 1);
  check_header_refused(one_tensor("U8", "[NaN]", "[0,1]"), "not JSON", 1);
}

TEST_CASE("fields missing, unknown or too many") {
  check_header_refused(R"({"a":{}})", "without dtype");
  check_header_refused(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", "without dtype", 1);
  check_header_refused(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", "without dtype", 1);
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1]}})", "without dtype", 1);
  check_header_refused(one_tensor("U8", "[1]", "[]"), "without dtype", 1);
  check_header_refused(one_tensor("U8", "[1]", "[0]"), "without dtype", 1);
  check_header_refused(one_tensor("U8", "[1]", "[0,1,1]"), "unexpected number", 1);
  check_header_refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", "unknown field", 1);
  for (const std::string dtype : {"", "f32", "F8_E4M3", "C64", "F128"}) {
    check_header_refused(one_tensor(dtype, "[1]", "[0,1]"), "unknown type", 1);
  }
}

TEST_CASE("metadata_incomplete_buffer: the bytes do not match the spans") {
  check_header_refused(one_tensor("F32", "[2]", "[0,8]"), "beyond the file", 7);
  check_header_refused(one_tensor("F32", "[2]", "[0,8]"), "beyond the file", 0);
  check_header_refused(one_tensor("F32", "[2]", "[0,8]"), "belong to no tensor", 9);
  check_header_refused("{}", "belong to no tensor", 1);
}

TEST_CASE("invalid_info: the span does not match shape and type") {
  check_header_refused(one_tensor("F32", "[2]", "[0,4]"), "its shape and type need 8", 4);
  check_header_refused(one_tensor("F32", "[]", "[0,8]"), "its shape and type need 4", 8);
  check_header_refused(one_tensor("F32", "[2,0]", "[0,8]"), "its shape and type need 0", 8);
  check_header_refused(one_tensor("U8", "[1]", "[1,0]"), "gap", 1);
  check_header_refused(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,1]}})",
      "ends before", 2);
}

TEST_CASE("holes and overlaps") {
  check_header_refused(one_tensor("U8", "[1]", "[1,2]"), "gap", 2);
  check_header_refused(one_tensor("U8", "[0]", "[1,1]"), "gap", 1);
  check_header_refused(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
      "overlaps", 3);
  check_header_refused(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})",
      "overlaps", 2);
  check_header_refused(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
      "gap", 3);
}

TEST_CASE("validation_overflow: products beyond 64 bits") {
  check_header_refused(one_tensor("F32", "[2,9223372036854775807]", "[0,8]"), "beyond 64 bits", 8);
  check_header_refused(one_tensor("F32", "[4611686018427387905]", "[0,4]"), "beyond 64 bits", 4);
  check_header_refused(one_tensor("U8", "[4294967296,4294967296,2]", "[0,0]"), "beyond 64 bits", 0);
  check_header_refused(one_tensor("U8", "[4294967296,4294967296,0]", "[0,0]"), "beyond 64 bits", 0);
  check_header_refused(one_tensor("U8", "[1]", "[0,9223372036854775807]"), "beyond the file", 1);
}

TEST_CASE("ranks beyond what a tensor can have") {
  std::string shape = "[";
  for (int i = 0; i < 100'000; ++i) shape += "1,";
  shape.back() = ']';
  check_header_refused(one_tensor("U8", shape, "[0,1]"), "over 64 dimensions", 1);
}

TEST_CASE("a name of any length makes a short message") {
  const auto parsed = parse_safetensors(bytes_of(raw_safetensors("{\"" + std::string(1'000'000, 'n') + "\":{}}", 0)));
  CHECK_FALSE(parsed);
  CHECK(parsed.error().problem.size() < 300);
}

}  // namespace esper::test::safetensors_hostile_test
