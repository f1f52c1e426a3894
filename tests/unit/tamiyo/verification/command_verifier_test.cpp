#include "tamiyo/verification/command_verifier.h"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <memory>

#include "base/hash.h"
#include "unit/tamiyo/signed_commands.h"

namespace esper::tamiyo::command_verifier_test {
namespace {

using R = CommandRejection;
using std::chrono::seconds;

// A verifier whose wall clock stands where the commands were issued, until it is moved.
struct TimedVerifier {
  std::shared_ptr<base::ManualTime> time = std::make_shared<base::ManualTime>(base::Duration(kIssued));
  CommandVerifier verifier{test_key(), base::Clock(time)};

  // Nothing: it was accepted.
  std::optional<R> rejection(const SignedCommand& command) {
    const auto verified = verifier.verify(command);
    return verified ? std::nullopt : std::optional(verified.error());
  }
  std::optional<R> rejection(const AddressedCommand& command) { return rejection(sign(command, test_key())); }
};

}  // namespace

TEST_CASE("a signed and fresh command is accepted as it was sent") {
  TimedVerifier it;
  const auto verified = it.verifier.verify(sign(addressed_command(), test_key()));
  REQUIRE(verified);
  CHECK(verified.value().command_id == "run-e3-1");
  CHECK(verified.value().seed_operation->blueprint_id == "conv_light");
  CHECK(it.verifier.figures().accepted == 1);
}

TEST_CASE("whatever field is changed after signing, the signature is invalid") {
  const auto good = sign(addressed_command(), test_key());
  const std::function<void(AddressedCommand&)> changes[] = {
      [](auto& it) { it.command.version = 2; },
      [](auto& it) { it.command.command_id = "run-e3-2"; },
      [](auto& it) { it.command.target_seed_id = "seed-0001"; },
      [](auto& it) { it.command.execution_deadline_ms = 51; },
      [](auto& it) { ++it.command.issued_at_ns; },
      [](auto& it) { it.command.issued_by = "other"; },
      [](auto& it) { it.command.annotations["reason"] = "none"; },
      [](auto& it) { it.command.seed_operation->operation = leyline::SeedOperation::kCull; },
      [](auto& it) { it.command.seed_operation->slot = "r0c2"; },
      [](auto& it) { it.command.seed_operation->blueprint_id = "conv_heavy"; },
      [](auto& it) { it.command.seed_operation->parameters["alpha_ticks"] = 3; },
      [](auto& it) { ++it.envelope.sequence; },
      [](auto& it) { ++it.envelope.expires_at_ns; }};
  for (const auto& change : changes) {
    auto changed = addressed_command();
    change(changed);
    REQUIRE(text_of(changed) != good.text);
    TimedVerifier it;
    CHECK(it.rejection(SignedCommand{text_of(changed), good.signature}) == R::kInvalidSignature);
    CHECK_FALSE(it.rejection(good));  // and what was rejected leaves no trace
  }
}

TEST_CASE("no signature, another key's, and no key are told apart") {
  TimedVerifier it;
  CHECK(it.rejection(SignedCommand{text_of(addressed_command()), ""}) == R::kMissingSignature);
  CHECK(it.rejection(sign(addressed_command(), test_key(2))) == R::kInvalidSignature);
  auto cut = sign(addressed_command(), test_key());
  cut.signature.pop_back();
  CHECK(it.rejection(cut) == R::kInvalidSignature);
  CommandVerifier without({}, base::Clock());
  CHECK(without.verify(sign(addressed_command(), test_key())).error() == R::kVerifierUnavailable);
}

TEST_CASE("a signed text that is no command, and one without id or time, are rejected") {
  TimedVerifier it;
  auto anonymous = addressed_command("");
  CHECK(it.rejection(anonymous) == R::kMissingCommandId);
  auto timeless = addressed_command();
  timeless.command.issued_at_ns = 0;
  CHECK(it.rejection(timeless) == R::kMissingTimestamp);
  auto odd = addressed_command();
  odd.command.seed_operation->operation = static_cast<leyline::SeedOperation>(99);
  CHECK(it.rejection(odd) == R::kMalformedCommand);
}

TEST_CASE("a command is fresh for 60 s, if it is not expired, and at most 5 s ahead") {
  const auto at = [](std::int64_t now_s, std::uint64_t expires_s) {
    TimedVerifier it;
    it.time = std::make_shared<base::ManualTime>(base::Duration(kIssued) + seconds(now_s));
    it.verifier = CommandVerifier(test_key(), base::Clock(it.time));
    auto command = addressed_command();
    command.envelope.expires_at_ns = kIssued + expires_s * kSecond;
    return it.rejection(command);
  };
  CHECK_FALSE(at(-5, 100));
  CHECK(at(-6, 100) == R::kIssuedInFuture);
  CHECK_FALSE(at(60, 100));
  CHECK(at(61, 100) == R::kStaleCommand);
  CHECK_FALSE(at(30, 30));
  CHECK(at(31, 30) == R::kExpiredCommand);
}

TEST_CASE("a command is accepted once, and none after a later one") {
  TimedVerifier it;
  CHECK_FALSE(it.rejection(addressed_command("a", 1)));
  CHECK(it.rejection(addressed_command("a", 1)) == R::kNonceReplayed);
  CHECK(it.rejection(addressed_command("a", 2)) == R::kNonceReplayed);
  CHECK_FALSE(it.rejection(addressed_command("b", 5)));
  CHECK(it.rejection(addressed_command("c", 5)) == R::kOutOfSequence);
  CHECK(it.rejection(addressed_command("d", 4)) == R::kOutOfSequence);
  CHECK_FALSE(it.rejection(addressed_command("e", 6)));
}

TEST_CASE("none of 20,000 mutated messages is accepted") {
  TimedVerifier it;
  const auto good = sign(addressed_command(), test_key());
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    auto bits = base::mix64(number);
    auto changed = good;
    auto& part = number % 4 == 0 ? changed.signature : changed.text;
    part[bits % part.size()] ^= static_cast<char>(1 + (bits >> 32) % 255);
    REQUIRE(it.rejection(changed) == R::kInvalidSignature);
  }
  CHECK_FALSE(it.rejection(good));
}

TEST_CASE("acceptances and rejections are metrics, by reason") {
  TimedVerifier it;
  it.rejection(addressed_command());
  it.rejection(addressed_command());
  it.rejection(SignedCommand{"", "00"});
  std::map<std::string, double> values;
  for (const auto& metric : verifier_metrics(it.verifier)) {
    std::string name(metric.name);
    if (const auto reason = metric.attributes.find("reason"); reason != metric.attributes.end()) {
      name += "/" + reason->second;
    }
    values[name] = metric.value;
  }
  CHECK(values.at("kasmina.command_verifier.accepted_total") == 1);
  CHECK(values.at("kasmina.command_verifier.rejections_total/nonce_replayed") == 1);
  CHECK(values.at("kasmina.command_verifier.rejections_total/invalid_signature") == 1);
  CHECK(values.at("kasmina.nonce_ledger.size") == 1);
  CHECK(values.at("kasmina.nonce_ledger.ttl_seconds") == 300);
}

}  // namespace esper::tamiyo::command_verifier_test
