#include "tamiyo/process/controller_message.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "leyline/observation_json.h"
#include "unit/tamiyo/observed.h"
#include "unit/tamiyo/process_lines.h"

namespace esper::tamiyo::controller_message_test {

using Catch::Matchers::ContainsSubstring;

namespace {

// An answer whose state is so many objects in each other.
std::string nested(int depth) {
  std::string text = "{\"number\":7,\"state\":";
  for (int i = 0; i < depth; ++i) text += "{\"a\":";
  return text + "1" + std::string(static_cast<std::size_t>(depth) + 1, '}');
}

std::string warnings(int count) {
  std::string text = "\"\"";
  for (int i = 1; i < count; ++i) text += ",\"\"";
  return text;
}

}  // namespace

TEST_CASE("a question arrives as it was asked") {
  ControllerQuestion question;
  question.number = 7;
  question.observation = observed_run();
  question.state = {{"epochs", 3}};
  const auto read = parse_question(text_of(question));
  REQUIRE(read);
  CHECK(read->number == 7);
  CHECK(read->state == question.state);
  CHECK(leyline::observation_json(read->observation.value()) == leyline::observation_json(*question.observation));
  question.observation.reset();
  CHECK_FALSE(parse_question(text_of(question)).value().observation);
}

TEST_CASE("an answer arrives as it was given, and what it leaves out has a default") {
  auto answer = answer_to(7, 2);
  answer.warnings = {"one"};
  answer.assessment.emplace().risk = 0.25;
  answer.details = "{}";
  answer.problem = "none";
  const auto read = parse_answer(text_of(answer));
  REQUIRE(read);
  CHECK(text_of(*read) == text_of(answer));
  const auto least = parse_answer("{\"number\":7}");
  REQUIRE(least);
  CHECK(least->commands == 0);
  CHECK(least->state == nlohmann::json::object());
}

TEST_CASE("what is no answer is refused, with the reason") {
  const std::pair<std::string, const char*> cases[] = {
      {"", "not valid JSON"},
      {"7", "it is not a JSON object"},
      {"{}", "it has no number"},
      {"{\"number\":-1}", "number: expected a whole number in range"},
      {"{\"number\":7.5}", "number: expected a whole number in range"},
      {"{\"number\":7,\"state\":[]}", "state: expected an object"},
      {"{\"number\":7,\"comands\":1}", "comands"},
      {"{\"number\":7,\"number\":8}", "occurs twice"},
      {"{\"number\":7,\"assessment\":{\"risk\":\"high\"}}", "assessment.risk: expected a number"},
      {std::string(100'000, '['), "not valid JSON"},
      {nested(40), "nested more than 32 deep"},
      {"{\"number\":7,\"warnings\":[" + warnings(257) + "]}", "257 warnings, of at most 256"},
      {"{\"number\":7,\"state\":{\"a\":\"" + std::string(1 << 20, 'x') + "\"}}",
       "a state of 1048584 bytes, of at most"},
      {"{\"number\":7,\"assessment\":{\"risk\":1.5}}", "assessment.risk: must be from 0 to 1"},
      {"{\"number\":7,\"assessment\":{\"coverage\":-1}}", "assessment.coverage: must be from 0 to 1"},
      {"{\"number\":7,\"details\":\"" + std::string(kLongestAnswer, 'x') + "\"}", "at most"}};
  for (const auto& [text, reason] : cases) {
    CAPTURE(text.substr(0, 80));
    const auto read = parse_answer(text);
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error(), ContainsSubstring(reason));
  }
}

TEST_CASE("what people read of an answer is cut where it is long") {
  ControllerAnswer answer = answer_to(7);
  answer.reason = answer.problem = std::string(1'000'000, 'x');
  answer.warnings = {std::string(1'000'000, 'x'), "short"};
  const auto read = parse_answer(text_of(answer));
  REQUIRE(read);
  CHECK(read->reason == std::string(kLongestReason, 'x') + "...");
  CHECK(read->problem == read->reason);
  CHECK(read->warnings == std::vector<std::string>{read->reason, "short"});
}

TEST_CASE("the start has number 0 and the contract's version beside what the run tells") {
  const auto start = nlohmann::json::parse(start_text({{"config", {{"epochs", 3}}}}));
  CHECK(start == nlohmann::json{{"number", 0}, {"version", 1}, {"config", {{"epochs", 3}}}});
}

}  // namespace esper::tamiyo::controller_message_test
