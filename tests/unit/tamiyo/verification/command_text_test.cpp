#include "tamiyo/verification/command_text.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "unit/tamiyo/signed_commands.h"

namespace esper::tamiyo::command_text_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

std::string reason_against(const json& object) {
  const auto parsed = parse_command(object.dump());
  REQUIRE_FALSE(parsed);
  return parsed.error();
}

// A text that differs from this one in some bytes: changed, cut, repeated or put in.
std::string mutated(std::string text, std::uint64_t number) {
  auto bits = base::mix64(number);
  const auto next = [&](std::uint64_t below) { return (bits = base::mix64(bits)) % below; };
  constexpr std::string_view kLikely = "{}[]\",:0-9e.\\u";
  for (auto left = 1 + next(4); left > 0; --left) {
    if (text.empty()) return text;
    const auto at = next(text.size());
    switch (next(5)) {
      case 0:
        text[at] = static_cast<char>(next(256));
        break;
      case 1:
        text[at] = kLikely[next(kLikely.size())];
        break;
      case 2:
        text.erase(at, 1 + next(20));
        break;
      case 3:
        text.insert(at, text.substr(next(text.size()), next(30)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("a command's text says all of it, and reads back as it was") {
  const auto text = text_of(addressed_command());
  CHECK(text.find('\n') == std::string::npos);
  const auto read = parse_command(text);
  REQUIRE(read);
  CHECK(text_of(*read) == text);
  CHECK(read->envelope == addressed_command().envelope);
  const auto& command = read->command;
  CHECK(command.command_id == "run-e3-1");
  CHECK(command.issued_by == "policy");
  CHECK(command.execution_deadline_ms == 50);
  CHECK(command.annotations.at("reason") == "a \"plateau\"");
  CHECK(command.seed_operation->operation == leyline::SeedOperation::kGerminate);
  CHECK(command.seed_operation->parameters.at("alpha_target") == 0.7);
}

TEST_CASE("each member is needed, in its type, and there is no other") {
  const auto good = json::parse(text_of(addressed_command()));
  for (const auto& [name, value] : good.items()) {
    INFO(name);
    json without = good;
    without.erase(name);
    CHECK_THAT(reason_against(without), ContainsSubstring(name));
    json other = good;
    other[name] = json::array();
    CHECK_FALSE(parse_command(other.dump()));
  }
  json more = good;
  more["more"] = 1;
  CHECK_THAT(reason_against(more), ContainsSubstring("unknown member \"more\""));
  json operation = good;
  operation["seed_operation"]["operation"] = "EXPLODE";
  CHECK_THAT(reason_against(operation), ContainsSubstring("operation is unknown"));
  json negative = good;
  negative["sequence"] = -1;
  CHECK_THAT(reason_against(negative), ContainsSubstring("sequence"));
  json large = good;
  large["version"] = 1ULL << 32;
  CHECK_THAT(reason_against(large), ContainsSubstring("too large"));
}

TEST_CASE("what is no command is rejected with a reason") {
  for (const auto* text : {"", "null", "[]", "{", "7", "\"x\"", "\xff"}) CHECK_FALSE(parse_command(text));
  CHECK_FALSE(parse_command(std::string(70'000, ' ')));
  CHECK_FALSE(parse_command(std::string(60'000, '[')));
  auto twice = text_of(addressed_command());
  twice.insert(1, "\"command_id\":\"another\",");
  CHECK_THAT(parse_command(twice).error(), ContainsSubstring("\"command_id\" occurs twice"));
}

TEST_CASE("of 20,000 mutated texts each is rejected, or is a command that can be written again") {
  const auto text = text_of(addressed_command());
  int accepted = 0;
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    const auto parsed = parse_command(mutated(text, number));
    if (!parsed) continue;
    ++accepted;
    const auto again = parse_command(text_of(*parsed));
    REQUIRE(again);
    REQUIRE(text_of(*again) == text_of(*parsed));
  }
  CHECK(accepted < 10'000);
}

}  // namespace esper::tamiyo::command_text_test
