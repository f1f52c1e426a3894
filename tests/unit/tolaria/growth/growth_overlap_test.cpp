// A policy that decides while the next epoch trains, or is not asked after each epoch.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/names.h"
#include "base/text/rounding.h"
#include "support/patience.h"
#include "support/run_fixture.h"
#include "tolaria/growth/growth.h"

namespace esper::test::growth_overlap_test {

using tolaria::RunOutcome;

namespace {

using leyline::Decision;
using leyline::Observation;
using Kind = RunOutcome::Kind;

config::RunConfig overlapped(int epochs) {
  auto config = small_config();
  config.epochs = epochs;
  config.policy.overlap = config::PolicyOverlap::kOn;
  return config;
}

Decision germinates_after(std::uint32_t epoch, const Observation& seen) {
  if (seen.current_epoch == epoch) return {{germination(seen)}, "as the test says"};
  return {{}, "waits"};
}

// "2": the epoch at whose end the first seed came.
std::string epoch_of_graft(const SmallRun& it) {
  const auto grafts = it.events("seed_grafted");
  return grafts.empty() ? "" : grafts.front().attributes.at("epoch");
}

tolaria::CheckpointImage checkpoint_at(SmallRun& it, std::int64_t step) {
  const auto saved = tolaria::list_checkpoints(it.files, kCheckpoints);
  const auto found = std::ranges::find(saved, step, &tolaria::CheckpointEntry::step);
  REQUIRE(found != saved.end());
  return *tolaria::read_checkpoint(it.files, found->path);
}

// Of a service that judges nothing but, on request, how long a decision took.
tamiyo::ServiceSettings calm_settings(double hook_ms = 1e9) {
  tamiyo::ServiceSettings calm;
  calm.risk.loss_spike = calm.risk.loss_warning = calm.risk.loss_volatility = calm.risk.gradient_variance = 1e9;
  calm.risk.step_ms = calm.risk.apply_ms = 1e9;
  calm.risk.hook_ms = hook_ms;
  return calm;
}

tamiyo::RunPolicy served(const SmallRun& it, ScriptedController::Script script,
                         const tamiyo::ServiceSettings& settings = calm_settings()) {
  return tamiyo::RunPolicy(std::make_unique<tamiyo::PolicyService>(
      std::make_unique<tamiyo::Consultation>(scripted(std::move(script)), base::Clock(),
                                             it.facts.config.safety.policy_deadline),
      settings, base::Clock()));
}

}  // namespace

TEST_CASE("with overlap a decision is carried out at the end of the next epoch, and the next question knows of it") {
  const bool overlaps = GENERATE(false, true);
  auto config = overlapped(4);
  if (!overlaps) config.policy.overlap = config::PolicyOverlap::kOff;
  std::vector<std::string> stages;  // of the first slot, as each question has it
  SmallRun it(config, [&](const Observation& seen) {
    stages.emplace_back(base::name_of(seen.slots.front().stage));
    return germinates_after(1, seen);
  });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(epoch_of_graft(it) == (overlaps ? "2" : "1"));
  CHECK(stages == std::vector<std::string>{"DORMANT", "GERMINATED", "GERMINATED", "GERMINATED"});
  CHECK_FALSE(it.policy.has_question());
  CHECK(it.events("tamiyo.decision").size() == (overlaps ? 3 : 4));  // the last epoch replaces the one before
}

TEST_CASE("the next epoch trains while the policy thinks") {
  std::promise<void> promise;
  SmallRun it(overlapped(3), [opened = promise.get_future().share()](const Observation& seen) {
    if (seen.current_epoch == 1) opened.wait();
    return germinates_after(1, seen);
  });
  bool is_open = false;
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id != "small-run-epoch-1") return;
    is_open = it.policy.has_question();
    promise.set_value();
  };
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(is_open);
  CHECK(it.events("tolaria.tamiyo_timeout").empty());
  CHECK(epoch_of_graft(it) == "2");
  CHECK(it.values("tamiyo.decide.latency_ms").size() == 2);  // none came with the first epoch
}

TEST_CASE("a policy that hangs costs the end of an epoch nothing more, and no command") {
  std::promise<void> promise;
  auto config = overlapped(4);
  config.safety.policy_deadline = std::chrono::milliseconds(1);
  SmallRun it(config, [opened = promise.get_future().share()](const Observation& seen) {
    opened.wait();
    return germinates_after(1, seen);
  });
  REQUIRE(it.go().kind == Kind::kDone);
  std::vector<std::string> problems;
  for (const auto& event : it.events("tolaria.tamiyo_timeout")) problems.push_back(event.attributes.at("error"));
  const std::string busy = "an earlier decision is still running";
  // The last epoch answers for the one before it, and for itself.
  CHECK(problems == std::vector<std::string>{"no decision within 1ms", busy, busy, busy});
  CHECK(it.events("seed_grafted").empty());
  CHECK(it.values("tolaria.mode.conservative") == std::vector<double>{0, 1, 1, 1});
  promise.set_value();
}

TEST_CASE("what the epoch before the last decides begins nothing") {
  SmallRun it(overlapped(3), [](const Observation& seen) { return germinates_after(2, seen); });
  it.policy = served(it, [](const Observation& seen) { return germinates_after(2, seen); });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.events("seed_grafted").empty());
  CHECK(it.events("tamiyo.decision").size() == 2);
  const auto held = it.events("pause_triggered");
  REQUIRE(held.size() == 1);
  CHECK(held[0].attributes.at("commands") == "1");
  CHECK(it.values("tamiyo.field_reports.published_total") == std::vector<double>{0, 1});  // aborted
}

TEST_CASE("a run that is resumed while a decision is open carries out the same one, to the bit") {
  struct Case {
    base::Length every;
    std::int64_t step;
    std::uint32_t open;  // the epoch that the question is about
  };
  using Unit = base::Length::Unit;
  const bool is_served = GENERATE(false, true);
  // Within an epoch, before its end, and after it.
  const auto c = GENERATE(Case{{1, Unit::kSteps}, 15, 2}, Case{{1, Unit::kSteps}, 18, 2},
                          Case{{1, Unit::kEpochs}, 12, 2}, Case{{1, Unit::kEpochs}, 18, 3});
  CAPTURE(is_served, c.step, c.open);
  auto config = overlapped(6);
  config.checkpoint.every = c.every;
  config.checkpoint.keep_best = false;
  config.checkpoint.keep_last = 100;
  std::atomic<std::uint32_t> answered{0};
  const auto script = [&](const Observation& seen) {
    auto decision = germinates_after(2, seen);
    answered = seen.current_epoch;
    return decision;
  };
  SmallRun it(config, script);
  if (is_served) it.policy = served(it, script);
  // The policy has answered each question before the checkpoints of the next epoch are made.
  it.sink.on_packet = [&](const leyline::TelemetryPacket&) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (answered < it.progress.epoch && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  };
  REQUIRE(it.go().kind == Kind::kDone);
  REQUIRE(epoch_of_graft(it) == "3");

  const auto image = checkpoint_at(it, c.step);
  const auto state = nlohmann::json::parse(image.run.at("controller").get<std::string>());
  CHECK(state.at("question").at("observation").at("current_epoch") == c.open);
  CHECK(state.at("epoch") == c.open - 1);  // as before the question, though it is answered
  SmallRun resumed(config, script, image);
  if (is_served) {
    resumed.policy = served(resumed, script);
    resumed.policy.restore(image.run.at("controller"));
  }
  REQUIRE(resumed.go().kind == Kind::kDone);
  CHECK(differing(it.bits(), resumed.bits()).empty());
  CHECK(it.policy.state() == resumed.policy.state());
  CHECK(it.model->network.save_topology() == resumed.model->network.save_topology());
}

TEST_CASE("a policy is asked as often as the run file says, and after the last epoch") {
  struct Case {
    base::Length every;
    std::vector<std::uint32_t> epochs;
  };
  using Unit = base::Length::Unit;
  const auto c = GENERATE(Case{{2, Unit::kEpochs}, {2, 4, 5}}, Case{{1, Unit::kEpochs}, {1, 2, 3, 4, 5}},
                          Case{{10, Unit::kSteps}, {2, 4, 5}},       // after 12, 24 and 30 steps
                          Case{{3, Unit::kSteps}, {1, 2, 3, 4, 5}},  // not within an epoch
                          Case{{1000, Unit::kSteps}, {5}});
  CAPTURE(base::to_string(c.every));
  auto config = small_config();
  config.epochs = 5;
  config.policy.every = c.every;
  std::vector<std::uint32_t> epochs;
  SmallRun it(config, [&](const Observation& seen) {
    epochs.push_back(seen.current_epoch);
    return germinates_after(2, seen);
  });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(epochs == c.epochs);
  CHECK(it.values("tamiyo.decide.latency_ms").size() == c.epochs.size());
  CHECK(it.values("tolaria.mode.conservative") == std::vector<double>{0, 0, 0, 0, 0});
}

TEST_CASE("a policy that is not asked after each epoch is judged by how long its last decision took") {
  constexpr std::chrono::milliseconds kThinks(200);
  auto config = small_config();
  config.epochs = 4;
  config.policy.every = {2, base::Length::Unit::kEpochs};
  config.policy.risk.judge_times = true;
  SmallRun it(config);
  const auto script = [&](const Observation&) {
    std::this_thread::sleep_for(kThinks);
    return Decision{{}, "waits"};
  };
  it.policy = served(it, script, calm_settings(base::milliseconds(kThinks) / 2));
  REQUIRE(it.go().kind == Kind::kDone);
  const auto events = it.events("hook_budget");
  REQUIRE(events.size() == 1);  // there is no decision before the first
  CHECK(std::stod(events.front().attributes.at("measured")) >= base::milliseconds(kThinks));
}

}  // namespace esper::test::growth_overlap_test
