#include "tolaria/growth/policy_questions.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "kasmina/network/network_seeds.h"
#include "support/run_fixture.h"

namespace esper::test::policy_questions_test {

using tolaria::PolicyQuestions;
using IfDecided = PolicyQuestions::IfDecided;

namespace {

using leyline::Decision;
using leyline::Observation;
using std::chrono::milliseconds;

constexpr char kLog[] = "/run/decisions.jsonl";

// The questions at the ends of a run's epochs, without its training.
struct Asked {
  explicit Asked(ScriptedController::Script script, const config::RunConfig& config = small_config())
      : it(config, std::move(script)) {}

  Observation after(std::uint32_t epoch) const {
    Observation seen;
    seen.current_epoch = epoch;
    seen.slots = kasmina::export_slots(it.model->network.state());
    return seen;
  }
  void ask(std::uint32_t epoch) { questions.ask(after(epoch), {steps, measured, trained}); }
  std::optional<Decision> finish(IfDecided then = IfDecided::kApply) { return questions.finish(it.progress, then); }
  std::optional<Decision> decide(std::uint32_t epoch, IfDecided then = IfDecided::kApply) {
    questions.begin_epoch_end();
    ask(epoch);
    return finish(then);
  }
  std::size_t count(const std::string& event) {
    log.publish();
    return it.events(event).size();
  }
  // That the policy's service is to judge by, of the question that is open.
  nlohmann::json figures_asked() const {
    return nlohmann::json::parse(it.policy.state()).at(tamiyo::kOpenQuestion).at("figures");
  }

  SmallRun it;
  tolaria::LifecycleLog log{*it.model, it.progress, it.outbox, it.saver};
  PolicyQuestions questions{it.facts, it.policy, log};
  step::StepMetrics steps;
  tolaria::Measurements measured;
  tolaria::TrainedEpoch trained;
};

Decision germinates(const Observation& seen) { return {{germination(seen)}, "as the test says"}; }

}  // namespace

TEST_CASE("a decision is returned and reported, and the epoch is none without one") {
  Asked asked(germinates);
  CHECK_FALSE(asked.questions.is_open());
  asked.questions.begin_epoch_end();
  asked.ask(1);
  CHECK(asked.questions.is_open());
  const auto decision = asked.finish();
  REQUIRE(decision);
  CHECK(decision->commands.size() == 1);
  CHECK_FALSE(asked.questions.is_open());
  CHECK(asked.questions.figures().decide_ms);
  CHECK_FALSE(asked.questions.figures().without_decision);
  CHECK(asked.it.progress.conservative_epochs == 0);
  CHECK(asked.count("tamiyo.decision") == 1);
}

TEST_CASE("a policy that fails is no decision, and its figures are those of one epoch's end") {
  Asked asked([](const Observation&) -> Decision { throw std::runtime_error("no idea"); });
  CHECK_FALSE(asked.decide(1));
  CHECK(asked.questions.figures().without_decision);
  CHECK(asked.questions.figures().decide_ms);  // it was asked
  CHECK(asked.it.progress.conservative_epochs == 1);
  CHECK(asked.count("tamiyo.decision") == 0);
  REQUIRE(asked.count("tolaria.tamiyo_error") == 1);
  CHECK(asked.it.events("tolaria.tamiyo_error").front().attributes.at("error") == "no idea");
  asked.questions.begin_epoch_end();
  CHECK_FALSE(asked.questions.figures().without_decision);
  CHECK_FALSE(asked.questions.figures().decide_ms);
}

TEST_CASE("a policy that is busy with an earlier question was not asked: its answer has no latency") {
  auto config = small_config();
  config.safety.policy_deadline = milliseconds(1);
  std::promise<void> promise;
  Asked asked(
      [opened = promise.get_future().share()](const Observation& seen) {
        opened.wait();
        return germinates(seen);
      },
      config);
  CHECK_FALSE(asked.decide(1));
  CHECK(asked.questions.figures().decide_ms);  // until the deadline
  CHECK_FALSE(asked.decide(2));
  CHECK_FALSE(asked.questions.figures().decide_ms);
  CHECK(asked.questions.figures().without_decision);
  CHECK(asked.it.progress.conservative_epochs == 2);
  CHECK(asked.count("tolaria.tamiyo_timeout") == 2);
  promise.set_value();
}

TEST_CASE("what is decided as the run ends begins nothing: its commands are counted, and observed no further") {
  Asked asked(quiet());
  std::vector<std::vector<std::string>> heard;
  auto service = std::make_unique<tamiyo::PolicyService>(
      std::make_unique<tamiyo::Consultation>(scripted([&heard](const Observation& seen) {
                                               heard.push_back(seen.held_back);
                                               Decision decision = germinates(seen);
                                               if (seen.current_epoch == 2) decision.commands.clear();
                                               decision.warnings = {"no slot is free"};
                                               return decision;
                                             }),
                                             base::Clock(), asked.it.facts.config.safety.policy_deadline),
      tamiyo::ServiceSettings(), base::Clock());
  const tamiyo::PolicyService& served = *service;
  asked.it.policy = tamiyo::RunPolicy(std::move(service));

  CHECK_FALSE(asked.decide(1, IfDecided::kDrop));
  CHECK(served.reports().pending().empty());
  CHECK(served.reports().published() == 1);
  CHECK_FALSE(asked.questions.figures().without_decision);  // it decided
  CHECK(asked.it.progress.conservative_epochs == 0);
  CHECK(asked.count("tamiyo.decision") == 0);
  CHECK(asked.count("tamiyo.order_missed") == 1);
  REQUIRE(asked.count("pause_triggered") == 1);
  CHECK(asked.it.events("pause_triggered").front().attributes.at("commands") == "1");

  CHECK_FALSE(asked.decide(2, IfDecided::kDrop));  // it asks for nothing, so nothing is held back
  CHECK(asked.count("pause_triggered") == 1);
  CHECK(asked.count("tamiyo.order_missed") == 2);
  asked.decide(3);
  const std::string slot = germination(asked.after(1)).seed_operation->slot;
  CHECK(heard == std::vector<std::vector<std::string>>{{}, {slot}, {}});
}

TEST_CASE("a question has the times of the last epoch's end at which the policy was asked, or answered") {
  auto config = small_config();
  config.policy.risk.judge_times = true;
  const auto time = std::make_shared<base::ManualTime>();
  Asked asked(quiet(), config);
  asked.it.facts.clock = base::Clock(time);
  asked.it.policy = tamiyo::RunPolicy(
      std::make_unique<tamiyo::Consultation>(scripted([time](const Observation&) {
                                               time->advance(milliseconds(200));
                                               return Decision{};
                                             }),
                                             base::Clock(), config.safety.policy_deadline, tamiyo::Pace::kImmediate));
  const auto figure = [&](const char* name) { return asked.figures_asked().at(name).get<double>(); };

  asked.questions.begin_epoch_end();
  asked.ask(1);
  CHECK(figure("hook_ms") == 0);
  CHECK(figure("apply_ms") == 0);
  asked.questions.end_epoch_end(500);  // the answer is waited for after the next epoch

  asked.questions.begin_epoch_end();
  asked.finish();
  asked.ask(2);
  CHECK(figure("hook_ms") == 500);
  CHECK(figure("apply_ms") == 300);
  asked.finish();
  asked.questions.end_epoch_end(250);

  asked.questions.begin_epoch_end();
  asked.questions.end_epoch_end(7);  // the policy is not asked after each epoch

  asked.questions.begin_epoch_end();
  asked.ask(4);
  CHECK(figure("hook_ms") == 250);
  CHECK(figure("apply_ms") == 50);
  asked.questions.end_epoch_end(300);

  asked.questions.begin_epoch_end();
  asked.finish();
  asked.questions.end_epoch_end(40);  // it answered alone

  asked.questions.begin_epoch_end();
  asked.ask(6);
  CHECK(figure("hook_ms") == 40);
  CHECK(figure("apply_ms") == 40);
  asked.finish();
}

TEST_CASE("each answer is in the log of decisions, where somebody is asked") {
  const bool is_asked = GENERATE(true, false);
  auto config = small_config();
  if (!is_asked) config.policy.kind = config::PolicyKind::kNone;
  Asked asked(germinates, config);
  asked.decide(1);
  CHECK_FALSE(asked.it.files.contents(kLog));  // the epoch's end is not complete
  asked.log.publish();
  asked.it.writer.flush();
  const auto log = asked.it.files.contents(kLog);
  REQUIRE(log.has_value() == is_asked);
  if (!is_asked) return;
  const auto read = leyline::read_decision_line(log->substr(0, log->find('\n')));
  REQUIRE(read);
  const auto* record = std::get_if<leyline::DecisionRecord>(&*read);
  REQUIRE(record != nullptr);
  CHECK(record->observation.current_epoch == 1);
  CHECK(record->answer.outcome == "decided");
  CHECK(record->carried_out.commands.size() == 1);
}

}  // namespace esper::test::policy_questions_test
