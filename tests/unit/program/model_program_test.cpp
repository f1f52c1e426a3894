#include "program/model_program.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

namespace esper::program::model_program_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

// relu(x), for any batch of four numbers.
json relu() {
  return json::parse(R"({"version": 1, "inputs": [["input", "in"]],
                         "values": [[6, 0, [61, 4], [4, 1]], [6, 0, [61, 4], [4, 1]]],
                         "operations": [["aten::relu", [["tensor", 0]], [["tensor", 1]]]],
                         "expressions": [[1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 1, 0]], "output": 1})");
}

std::string problem(const json& document) {
  const auto read = parse_model_program(document.dump());
  return read ? "" : read.error();
}

}  // namespace

TEST_CASE("a model's program is read as it was written") {
  const auto model = parse_model_program(relu().dump());
  REQUIRE(model);
  CHECK(model->output == 1);
  CHECK(model->body.program.operations.front().name == "aten::relu");
  const NumberPlace rows{NumberPlace::Part::kSize, 1, 0, 0};
  CHECK(model->body.expressions.at(rows).whole_at(5) == 5);
}

TEST_CASE("texts that are no program are refused by name") {
  CHECK_FALSE(parse_model_program("").has_value());
  CHECK_FALSE(parse_model_program("[1, 2]").has_value());
  CHECK_FALSE(parse_model_program(std::string(200'000, '[')).has_value());
  auto other = relu();
  other["version"] = 2;
  CHECK_THAT(problem(other), ContainsSubstring("version"));
  other = relu();
  other.erase("values");
  CHECK_THAT(problem(other), ContainsSubstring("values"));
  other = relu();
  other["operations"][0][1][0][1] = 17;
  CHECK_THAT(problem(other), ContainsSubstring("before it is defined"));
  other = relu();
  other["operations"][0][1][0] = json::array({"text", "x"});
  CHECK(problem(other) != "");
  other = relu();
  other["output"] = 0;
  CHECK_THAT(problem(other), ContainsSubstring("output"));
  other = relu();
  other["inputs"][0][0] = "host.x";
  CHECK_THAT(problem(other), ContainsSubstring("input"));
  other = relu();
  other["values"][0][2][0] = 1e300;
  CHECK_THAT(problem(other), ContainsSubstring("is not a whole number"));
  other = relu();
  other["operations"][0][1][0][1] = 1e300;
  CHECK_THAT(problem(other), ContainsSubstring("is not a whole number"));
  for (const char* place : {"[1, 9, 0, 0, 1, 0]", "[1, 0, 0, 7, 1, 0]", "[3, 0, 5, 0, 1, 0]", "[0, 0, 0, 0, 1, 0]",
                            "[1, -1, 0, 0, 1, 0]", "[1, 0, 0]"}) {
    other = relu();
    other["expressions"].push_back(json::parse(place));
    CHECK(problem(other) != "");
  }
}

TEST_CASE("operators that a model has no use for are refused") {
  auto other = relu();
  other["operations"] = json::parse(R"([["aten::relu_", [["tensor", 0]], [["tensor", 0]]],
                                        ["aten::relu", [["tensor", 0]], [["tensor", 1]]]])");
  CHECK_THAT(problem(other), ContainsSubstring("writes into the batch"));
  other["operations"] = json::parse(R"([["aten::from_file", [["text", "/etc/passwd"], ["none"], ["int", 4], ["none"],
                                         ["none"], ["none"], ["none"]], [["tensor", 1]]]])");
  CHECK_THAT(problem(other), ContainsSubstring("opens files"));
}

TEST_CASE("a write through a view is a write into what it is a view of") {
  auto document = relu();
  document["values"] = json::parse(R"([[6, 0, [61, 4], [4, 1]], [6, 0, [4], [1]], [6, 0, [], []],
                                       [6, 0, [61, 4], [4, 1]]])");
  document["inputs"].push_back(json::parse(R"(["host.queue", "in"])"));
  document["expressions"] = json::parse("[[1, 0, 0, 0, 1, 0], [1, 3, 0, 0, 1, 0]]");
  document["output"] = 3;
  const auto with_first = [&](const char* viewed) {
    auto other = document;
    other["operations"] = json::array({json::parse(viewed)});
    other["operations"].push_back(json::parse(R"(["aten::zero_", [["tensor", 2]], [["tensor", 2]]])"));
    other["operations"].push_back(json::parse(R"(["aten::relu", [["tensor", 0]], [["tensor", 3]]])"));
    return other;
  };
  CHECK_THAT(problem(with_first(R"(["aten::select.int", [["tensor", 0], ["int", 0], ["int", 0]], [["tensor", 2]]])")),
             ContainsSubstring("writes into the batch"));
  const auto model = parse_model_program(
      with_first(R"(["aten::select.int", [["tensor", 1], ["int", 0], ["int", 0]], [["tensor", 2]]])").dump());
  REQUIRE(model);
  const auto silent = without_effects(*model);
  REQUIRE_FALSE(silent);
  CHECK_THAT(silent.error(), ContainsSubstring("aten::zero_ changes a buffer"));
}

TEST_CASE("without effects a program drops nothing out; what draws numbers otherwise has no such form") {
  const auto read = [](const char* operation) {
    auto document = relu();
    document["operations"] = json::array({json::parse(operation)});
    const auto model = parse_model_program(document.dump());
    REQUIRE(model);
    return without_effects(*model);
  };
  const auto silent =
      read(R"(["aten::dropout", [["tensor", 0], ["real", 4602678819172646912], ["bool", true]], [["tensor", 1]]])");
  REQUIRE(silent);
  CHECK(silent->body.program.operations.front().arguments[2] == Argument(false));
  const auto noisy = read(R"(["aten::rand_like", [["tensor", 0], ["none"], ["none"], ["none"], ["none"], ["none"]],
                              [["tensor", 1]]])");
  REQUIRE_FALSE(noisy);
  CHECK_THAT(noisy.error(), ContainsSubstring("random"));
}

}  // namespace esper::program::model_program_test
