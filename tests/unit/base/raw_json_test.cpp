#include "base/text/raw_json.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>
#include <string>

namespace esper::test::raw_json_test {

using namespace esper::base;
using nlohmann::json;

TEST_CASE("the members of an object are those that a parser finds, whatever their texts contain") {
  const json document = {{"number", -1.5e-3},
                         {"null", nullptr},
                         {"empty", ""},
                         {"text", "a \"quoted\", {[ \\"},
                         {"list", {1, {{"}", "]"}}, json::array()}},
                         {"object", {{"inner", {1, 2}}, {"text", "\\\""}}}};
  for (const int indent : {-1, 0, 2}) {
    const std::string text = document.dump(indent);
    const auto object = raw_object(text);
    REQUIRE(object);
    REQUIRE(object->size() == document.size());
    for (const auto& [name, value] : *object) {
      CAPTURE(name, value);
      CHECK(json::parse(value) == document.at(std::string(name)));
    }
    CHECK(json::parse(raw_value(*object, "text")) == document["text"]);
    CHECK(raw_value(*object, "inner").empty());
  }
}

TEST_CASE("an object may be empty, and have space around it") {
  CHECK(raw_object("{}")->empty());
  CHECK(raw_object(" \n{ } \r\n")->empty());
  CHECK(raw_value(*raw_object("\t{ \"a\" : 1 , \"b\" : [ ] }"), "b") == "[ ]");
}

TEST_CASE("what is no whole object has no members") {
  const auto text = GENERATE(as<std::string>{}, "", " ", "1", "\"a\"", "[]", "{", "{\"a\"", "{\"a\":", "{\"a\":1",
                             "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "{\"a\":,\"b\":1}", "{\"a\":1}}",
                             "{\"a\":1} x", "{\"a\":\"b}", "{\"a\":[1}", "{\"a\":{}", "{\"a\\\":1}");
  CAPTURE(text);
  CHECK_FALSE(raw_object(text));
}

TEST_CASE("each beginning of an object ends nowhere") {
  const std::string text = R"({"a":{"b":[1,"]}\"",{"c":null}]},"d":"\\"})";
  REQUIRE(behind_json_value(text, 0) == text.size());
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK(behind_json_value(text.substr(0, length), 0) == std::string::npos);
    CHECK_FALSE(raw_object(text.substr(0, length)));
  }
}

}  // namespace esper::test::raw_json_test
