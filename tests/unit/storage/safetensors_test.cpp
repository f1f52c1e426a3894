#include "storage/safetensors/safetensors.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "base/error.h"
#include "storage/atomic_publish.h"
#include "storage/real_file_system.h"
#include "support/faults/faulty_file_system.h"
#include "unit/storage/safetensors_sample.h"

namespace esper::test::safetensors_test {

using namespace esper::storage;
using namespace esper::test;

namespace {

const std::string kBytes = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!?";

TensorView tensor(const std::string& name, Dtype dtype, const std::vector<std::int64_t>& shape) {
  return {name, dtype, shape, bytes_of(kBytes).first(*byte_count(shape, dtype))};
}

}  // namespace

TEST_CASE("every type, rank and size comes back as it was") {
  std::vector<TensorView> tensors;
  for (int i = 0; i <= static_cast<int>(Dtype::kU64); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    const std::string name(dtype_name(dtype));
    tensors.push_back(tensor(name + ".matrix", dtype, {2, 3}));
    tensors.push_back(tensor(name + ".scalar", dtype, {}));
    tensors.push_back(tensor(name + ".empty", dtype, {4, 0, 2}));
  }
  tensors.push_back(tensor("", Dtype::kU8, {1}));
  tensors.push_back(tensor("quote\" back\\ tab\t é", Dtype::kU8, {3}));
  const TensorMetadata metadata = {{"step", "7"}, {"note", "zwölf \"quoted\"\n"}};
  const std::string file = written_safetensors(tensors, metadata);
  const auto parsed = parse_safetensors(bytes_of(file));
  INFO(parsed.error_or({}).problem);
  REQUIRE(parsed);
  CHECK(parsed->metadata == metadata);
  REQUIRE(parsed->tensors.size() == tensors.size());
  for (const auto& original : tensors) {
    const auto found = std::ranges::find(parsed->tensors, original.name, &TensorView::name);
    REQUIRE(found != parsed->tensors.end());
    CHECK(found->dtype == original.dtype);
    CHECK(found->shape == original.shape);
    CHECK(text_of(found->bytes) == text_of(original.bytes));
  }
}

TEST_CASE("the layout is the one of the format") {
  const std::string file =
      written_safetensors({tensor("b", Dtype::kU8, {3}), tensor("a", Dtype::kF32, {2})}, {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  CHECK(file == raw_safetensors(padded, 0) + kBytes.substr(0, 8) + kBytes.substr(0, 3));
}

TEST_CASE("the same contents give the same bytes in whatever order they come, and every tensor is aligned") {
  const std::vector<TensorView> one = {tensor("x", Dtype::kU8, {3}), tensor("y", Dtype::kF64, {2}),
                                       tensor("z", Dtype::kBF16, {5}), tensor("w", Dtype::kF32, {1})};
  const std::vector<TensorView> other(one.rbegin(), one.rend());
  const std::string file = written_safetensors(one);
  CHECK(file == written_safetensors(other));
  const auto parsed = parse_safetensors(bytes_of(file));
  REQUIRE(parsed);
  for (const auto& found : parsed->tensors) {
    const auto offset = found.bytes.data() - bytes_of(file).data();
    CHECK(offset % static_cast<std::ptrdiff_t>(bytes_per_element(found.dtype)) == 0);
  }
}

TEST_CASE("a file without tensors is a file") {
  const std::string file = written_safetensors({});
  CHECK(file == raw_safetensors("{}      ", 0));
  const auto parsed = parse_safetensors(bytes_of(file));
  REQUIRE(parsed);
  CHECK(parsed->tensors.empty());
  CHECK(parse_safetensors(bytes_of(raw_safetensors(R"({"__metadata__":{}})", 0))));
}

TEST_CASE("the order of the keys in the header does not matter") {
  const auto parsed = parse_safetensors(bytes_of(raw_safetensors(
      R"({"b":{"data_offsets":[2,4],"shape":[2],"dtype":"U8"},"a":{"dtype":"I16","shape":[],"data_offsets":[0,2]},)"
      R"("__metadata__":{"k":"v"}})",
      4)));
  INFO(parsed.error_or({}).problem);
  REQUIRE(parsed);
  CHECK(parsed->tensors[0].name == "a");
  CHECK(parsed->tensors[1].name == "b");
}

TEST_CASE("what the writer must not be given is a bug of the caller") {
  const auto refuses = [](const std::vector<TensorView>& tensors) {
    CHECK_THROWS_AS(written_safetensors(tensors), esper::base::Error);
  };
  refuses({tensor("a", Dtype::kU8, {1}), tensor("a", Dtype::kU8, {1})});
  refuses({tensor("a", Dtype::kU8, {1}), tensor("b", Dtype::kU8, {1}), tensor("a", Dtype::kF32, {1})});
  refuses({tensor("__metadata__", Dtype::kU8, {1})});
  refuses({{"a", Dtype::kF32, {2}, bytes_of(kBytes).first(7)}});
  refuses({{"a", Dtype::kF32, {-1}, {}}});
  refuses({{"a", Dtype::kF32, std::vector<std::int64_t>(65, 1), bytes_of(kBytes).first(4)}});
}

TEST_CASE("a file is loaded as a whole, within its limit, and its views survive a move") {
  FaultyFileSystem files;
  publish_file(files, "model.safetensors", [](const ByteSink& sink) {
    write_safetensors({tensor("a", Dtype::kF32, {2}), tensor("b", Dtype::kU8, {3})}, {{"k", "v"}}, sink);
  });
  auto loaded = load_safetensors(files, "model.safetensors", 1 << 20);
  REQUIRE(loaded);
  const LoadedSafetensors moved = *std::move(loaded);
  CHECK(text_of(moved.contents.tensors[0].bytes) == kBytes.substr(0, 8));
  CHECK(text_of(moved.contents.tensors[1].bytes) == kBytes.substr(0, 3));
  CHECK(load_safetensors(files, "model.safetensors", 64).error().problem.find("larger than 64") != std::string::npos);
  CHECK_THROWS_AS(load_safetensors(files, "none", 64), esper::base::IoError);
}

TEST_CASE("a pickle is refused with advice") {
  FaultyFileSystem files;
  files.put("model.pt", "PK\x03\x04" + std::string(1000, 'x'));
  CHECK(load_safetensors(files, "model.pt", 1 << 20).error().problem.find("torch.save") != std::string::npos);
  files.put("old.pt", "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9" + std::string(1000, 'x'));
  CHECK(load_safetensors(files, "old.pt", 1 << 20).error().problem.find("torch.save") != std::string::npos);
}

TEST_CASE("sizes are computed without overflow") {
  CHECK(byte_count({}, Dtype::kF64) == 8);
  CHECK(byte_count({3, 0, 5}, Dtype::kF64) == 0);
  CHECK(byte_count({2, 3}, Dtype::kBF16) == 12);
  CHECK_FALSE(byte_count({-1}, Dtype::kU8));
  CHECK_FALSE(byte_count({INT64_MAX, 3}, Dtype::kU8));
  CHECK_FALSE(byte_count({INT64_MAX}, Dtype::kF32));
}

}  // namespace esper::test::safetensors_test
