#include "tamiyo/process/answer_reader.h"

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>

#include "base/hash.h"
#include "unit/tamiyo/process_lines.h"

namespace esper::tamiyo::answer_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using std::chrono::seconds;

// Time stands where the commands were issued.
struct TimedReader {
  std::shared_ptr<base::ManualTime> time = std::make_shared<base::ManualTime>(base::Duration(kIssued));
  AnswerReader reader{base::Clock(time)};
  TimedReader() { reader.begin(test_key()); }

  // Why the process is not to be trusted; empty: nothing is wrong so far.
  std::string refusal(const std::string& line, std::uint64_t asked = 1) {
    const auto taken = reader.take(line, asked);
    return taken ? "" : taken.error();
  }
  std::optional<ControllerReply> reply(const std::string& line, std::uint64_t asked = 1) {
    auto taken = reader.take(line, asked);
    REQUIRE(taken);
    return *taken;
  }
};

// Changed, cut, enlarged or turned, as `number` has it. Turned by no place it is as it was.
std::string mutated(std::string line, std::uint64_t number) {
  const auto bits = base::mix64(number);
  const auto place = (bits >> 8) % line.size();
  switch (bits % 4) {
    case 0:
      line[place] ^= static_cast<char>(1 + (bits >> 40) % 255);
      break;
    case 1:
      line.erase(place, 1 + (bits >> 40) % 40);
      break;
    case 2:
      line.insert(place, std::string(1 + (bits >> 40) % 40, static_cast<char>(bits >> 48)));
      break;
    default:
      line = line.substr(place) + line.substr(0, place);
      break;
  }
  return line;
}

// Signed, whatever it is.
std::string signed_as_command(const std::string& text) {
  return fmt::format("{} {}",
                     crypto::mac_of(test_key(), storage::bytes_of("esper command 1\n"), storage::bytes_of(text)), text);
}

std::string command_of(const std::string& id, std::uint64_t sequence, int key = 1) {
  return command_line(addressed_command(id, sequence), test_key(key));
}

}  // namespace

TEST_CASE("commands and the answer that follows them are one reply") {
  TimedReader it;
  CHECK_FALSE(it.reply(command_of("a", 1)));
  CHECK_FALSE(it.reply(command_of("b", 2)));
  const auto reply = it.reply(signed_answer(1, 2));
  REQUIRE(reply);
  REQUIRE(reply->commands.size() == 2);
  CHECK(reply->commands[1].command_id == "b");
  CHECK(reply->answer.reason == "a plateau");
  CHECK(reply->answer.state == nlohmann::json{{"epochs", 1}});
  CHECK(it.reply(signed_answer(2), 2)->commands.empty());
  CHECK(it.reader.verifier().figures().accepted == 2);
}

TEST_CASE("a second answer and one to an earlier question are dropped with their commands, and counted") {
  TimedReader it;
  CHECK_FALSE(it.reply(command_of("a", 1)));
  REQUIRE(it.reply(signed_answer(1, 1)));
  CHECK_FALSE(it.reply(command_of("a", 1), 2));  // the whole answer once more
  CHECK_FALSE(it.reply(signed_answer(1, 1), 2));
  CHECK_FALSE(it.reply(command_of("late", 2), 2));
  CHECK_FALSE(it.reply(signed_answer(1, 1), 2));
  CHECK(it.reader.dropped() == 2);
  const auto reply = it.reply(signed_answer(2), 2);
  REQUIRE(reply);
  CHECK(reply->commands.empty());
}

TEST_CASE("nothing of an answer is taken of which a command was rejected") {
  const auto rejection = [](const std::string& command, base::Duration later = {}) {
    TimedReader it;
    REQUIRE(it.refusal(command_of("a", 1)).empty());
    REQUIRE(it.refusal(signed_answer(1, 1)).empty());
    it.time->advance(later);
    const auto first = it.refusal(command, 2);
    return first.empty() ? it.refusal(signed_answer(2, 1), 2) : first;
  };
  CHECK(rejection(command_of("b", 2)).empty());
  CHECK_THAT(rejection(command_of("a", 2)), ContainsSubstring("nonce_replayed"));
  CHECK_THAT(rejection(command_of("b", 1)), ContainsSubstring("out_of_sequence"));
  CHECK_THAT(rejection(command_of("b", 2), seconds(61)), ContainsSubstring("stale_command"));
  CHECK_THAT(rejection(command_of("b", 2), seconds(31)), ContainsSubstring("expired_command"));
  CHECK_THAT(rejection(command_of("b", 2, 2)), ContainsSubstring("signature is invalid"));
}

TEST_CASE("a process that says what it must not is not trusted") {
  TimedReader it;
  CHECK_THAT(it.refusal("hello"), ContainsSubstring("not a signed message"));
  CHECK_THAT(it.refusal(answer_line(text_of(answer_to(1)), test_key(2))), ContainsSubstring("signature is invalid"));
  CHECK_THAT(it.refusal(answer_line("[]", test_key())), ContainsSubstring("malformed"));
  CHECK_THAT(it.refusal(signed_answer(2)), ContainsSubstring("question 2, which was not asked"));
  CHECK_THAT(it.refusal(signed_answer(1, 1)), ContainsSubstring("announced 1 commands and sent 0"));
  std::string refused;
  for (std::uint64_t number = 1; refused.empty() && number < 1000; ++number) {
    refused = it.refusal(command_of(std::to_string(number), number));
  }
  CHECK_THAT(refused, ContainsSubstring("more than 64 commands"));
}

TEST_CASE("another process has another key, and its numbers begin again") {
  TimedReader it;
  REQUIRE(it.refusal(command_of("a", 9)).empty());
  it.reader.begin(test_key(2));
  CHECK_THAT(it.refusal(command_of("b", 10)), ContainsSubstring("signature is invalid"));
  CHECK(it.refusal(command_of("b", 1, 2)).empty());
  const auto reply = it.reply(answer_line(text_of(answer_to(1, 1)), test_key(2)));
  REQUIRE(reply);
  CHECK(reply->commands.front().command_id == "b");  // and not the lost process's
}

TEST_CASE("ids may come again once a state was loaded; numbers may not") {
  TimedReader it;
  CHECK_FALSE(it.reply(command_of("a", 1)));
  REQUIRE(it.reply(signed_answer(1, 1)));
  it.reader.forget_ids();
  CHECK_FALSE(it.reply(command_of("a", 2), 2));
  CHECK(it.reply(signed_answer(2, 1), 2)->commands.size() == 1);
  it.reader.forget_ids();
  CHECK_FALSE(it.reply(command_of("a", 2), 3));
  CHECK_THAT(it.refusal(signed_answer(3, 1), 3), ContainsSubstring("out_of_sequence"));
}

TEST_CASE("of 20,000 mutated conversations none changes what is decided") {
  TimedReader it;
  std::int64_t replies = 0;
  for (std::uint64_t number = 1; number <= 20'000; ++number) {
    it.reader.begin(test_key());
    std::string lines[] = {command_of("a", 1), signed_answer(number, 1)};
    auto& line = lines[number % 2];
    line = mutated(line, number);
    const bool is_whole = lines[0] == command_of("a", 1) && lines[1] == signed_answer(number, 1);
    const bool is_trusted = it.refusal(lines[0], number).empty();
    bool is_decided = false;
    if (is_trusted) {
      const auto taken = it.reader.take(lines[1], number);
      is_decided = taken && *taken;
    }
    if (is_decided) ++replies;
    REQUIRE(is_decided == is_whole);
  }
  CHECK(replies < 200);
  CHECK(it.reader.dropped() == 0);
}

TEST_CASE("of 20,000 messages that were mutated before they were signed each is refused, or well formed") {
  TimedReader it;
  int replies = 0;
  for (std::uint64_t number = 1; number <= 20'000; ++number) {
    it.reader.begin(test_key());
    auto command = text_of(addressed_command("a", 1)), answer = text_of(answer_to(number, 1));
    auto& text = number % 2 == 0 ? command : answer;
    text = mutated(text, number);
    REQUIRE(it.refusal(signed_as_command(command), number).empty());  // what is wrong with it is said with the answer
    const auto taken = it.reader.take(answer_line(answer, test_key()), number);
    if (!taken || !*taken) continue;
    ++replies;
    REQUIRE((*taken)->answer.number == number);
    REQUIRE((*taken)->commands.size() == 1);
    REQUIRE(parse_command(command));
    REQUIRE_FALSE((*taken)->commands[0].command_id.empty());
  }
  CHECK(replies > 0);
  CHECK(replies < 10'000);
}

TEST_CASE("a process may use the ids of what the lost one sent, which was not carried out") {
  TimedReader it;
  REQUIRE(it.refusal(command_of("a", 1)).empty());
  it.reader.begin(test_key(2));
  REQUIRE(it.refusal(command_of("a", 1, 2)).empty());
  const auto reply = it.reply(answer_line(text_of(answer_to(1, 1)), test_key(2)));
  REQUIRE(reply);
  CHECK(reply->commands.size() == 1);
}

}  // namespace esper::tamiyo::answer_reader_test
