#include "leyline/decision_json.h"

#include <catch2/catch_test_macros.hpp>

#include "base/text/json_struct.h"
#include "leyline/decision_members.h"
#include "support/logged_decision.h"

namespace esper::leyline::decision_json_test {

TEST_CASE("a decision comes back from its text, to the last bit") {
  const auto decision = test::full_decision();
  const std::string text = base::json_line(decision_json(decision));
  const auto document = base::parse_json(text, 100'000);
  REQUIRE(document);
  const auto again = base::from_json<Decision>(*document);
  REQUIRE(again);
  CHECK(base::json_line(decision_json(*again)) == text);
  REQUIRE(again->commands.size() == 2);
  CHECK(again->commands[0].issued_at_ns == 123456789012345678ull);
  CHECK(again->commands[0].command_type == CommandType::kSeed);
  CHECK(again->commands[0].seed_operation->parameters == decision.commands[0].seed_operation->parameters);
  CHECK(again->commands[1].seed_operation->operation == SeedOperation::kCull);
  CHECK(again->warnings == decision.warnings);
  CHECK(again->assessment->blending->method == "cosine");
  CHECK_FALSE(again->assessment->blueprint_index);
}

TEST_CASE("a decision may be as short as no commands; what is no decision is refused with its place") {
  const auto read = [](const char* text) { return base::from_json<Decision>(nlohmann::json::parse(text)); };
  CHECK(read(R"({"commands":[]})"));
  CHECK(read("{}").value().commands.empty());
  CHECK(read(R"({"commands":[{"seed_operation":{"operation":"GERMINAT"}}]})")
            .error_or("")
            .starts_with("commands[0].seed_operation.operation: expected one of GERMINATE, "));
  CHECK(read(R"({"comands":[]})").error_or("") == "\"comands\" is not one of its fields; did you mean \"commands\"?");
  CHECK_FALSE(read("[]"));
}

}  // namespace esper::leyline::decision_json_test
