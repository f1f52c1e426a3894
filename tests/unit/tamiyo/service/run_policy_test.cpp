#include "tamiyo/service/run_policy.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "leyline/controller.h"
#include "support/scripted_controller.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::run_policy_test {
namespace {

std::unique_ptr<Consultation> culler() {
  return std::make_unique<Consultation>(
      test::scripted([](const leyline::Observation& seen) {
        return leyline::Decision{
            {leyline::seed_command(test::command_id(seen), leyline::SeedOperation::kCull, "seed-9999")}, "cull"};
      }),
      base::Clock(), std::chrono::seconds(60), Pace::kImmediate);
}

// Says what it was asked about, and how often it was asked before.
std::unique_ptr<Consultation> talker(base::Duration deadline = std::chrono::seconds(60)) {
  return std::make_unique<Consultation>(test::scripted([](const leyline::Observation& seen) {
                                          return leyline::Decision{{}, "after " + std::to_string(seen.current_epoch)};
                                        }),
                                        base::Clock(), deadline);
}

class OfOtherWeights final : public leyline::Controller {
 public:
  leyline::Decision decide(const leyline::Observation&) override { return {}; }
  std::string save_state() const override { return "{}"; }
  void load_state(const std::string&) override {
    throw base::Error(base::ExitCode::kCheckpoint, "it is of other weights");
  }
};

ServiceReport ask(RunPolicy& policy, const leyline::Observation& observation) {
  policy.begin({observation, {}});
  return policy.finish(observation.current_epoch).report;
}

}  // namespace

TEST_CASE("a policy that is asked directly is not judged; the service does not carry out what it cannot trust") {
  const DecidedRun run;
  RunPolicy direct(culler());
  RunPolicy served(std::make_unique<PolicyService>(culler(), ServiceSettings{}, base::Clock()));
  const auto plain = ask(direct, run.now);
  CHECK(plain.evaluation.answer.decision.commands.size() == 1);
  CHECK(plain.metrics.empty());
  const auto judged = ask(served, run.now);
  CHECK(judged.evaluation.answer.kind == Answer::Kind::kFailed);
  CHECK(judged.evaluation.answer.decision.commands.empty());
  CHECK_FALSE(judged.metrics.empty());
}

TEST_CASE("both forms go on from their saved states") {
  const DecidedRun run;
  RunPolicy direct(culler());
  ask(direct, run.now);
  CHECK(direct.state() == "{\"epoch\":3}");
  RunPolicy served(std::make_unique<PolicyService>(culler(), ServiceSettings{}, base::Clock()));
  ask(served, run.now);
  RunPolicy again(std::make_unique<PolicyService>(culler(), ServiceSettings{}, base::Clock()));
  again.restore(served.state());
  CHECK(again.state() == served.state());
  direct.restore("{}");
  CHECK(direct.state() == "{}");
}

TEST_CASE("a policy sees what was held back of its last decision, also where the run was resumed since") {
  const auto heard = std::make_shared<std::vector<std::vector<std::string>>>();
  const auto make = [&] {
    auto controller = test::scripted([heard](const leyline::Observation& seen) {
      heard->push_back(seen.held_back);
      return leyline::Decision{
          {leyline::seed_command(test::command_id(seen), leyline::SeedOperation::kCull, "seed-0001")}, "cull"};
    });
    auto consultation = std::make_unique<Consultation>(std::move(controller), base::Clock(), std::chrono::seconds(60),
                                                       Pace::kImmediate);
    return RunPolicy(std::make_unique<PolicyService>(std::move(consultation), ServiceSettings{}, base::Clock()));
  };
  DecidedRun run;
  RunPolicy policy = make();
  ask(policy, run.now);
  ++run.now.current_epoch;
  run.now.validation_loss += 1;  // a spike
  CHECK(ask(policy, run.now).evaluation.answer.decision.commands.empty());
  ++run.now.current_epoch;
  RunPolicy resumed = make();
  resumed.restore(policy.state());
  ask(resumed, run.now);
  CHECK(*heard == std::vector<std::vector<std::string>>{{}, {}, {"seed-0001"}});
}

TEST_CASE("an open question is a part of the state before it, and a restored policy answers it again") {
  const bool is_served = GENERATE(false, true);
  const auto make = [&] {
    auto policy = is_served ? RunPolicy(std::make_unique<PolicyService>(talker(), ServiceSettings{}, base::Clock()))
                            : RunPolicy(talker());
    policy.add_shadow("none", talker());
    return policy;
  };
  DecidedRun run;
  RunPolicy policy = make();
  ask(policy, run.now);
  const auto before = policy.state();
  ++run.now.current_epoch;
  run.now.training_loss = std::numeric_limits<double>::quiet_NaN();
  policy.begin({run.now, {.gradient_conflict = 0.25}});
  CHECK(policy.has_question());
  const auto open = policy.state();
  CHECK(open.find("\"question\"") != std::string::npos);

  RunPolicy again = make();
  again.restore(open);
  CHECK(again.has_question());
  CHECK(again.state() == open);
  again.ask_again();
  CHECK(again.state() == open);
  const auto first = policy.finish(4), second = again.finish(4);
  CHECK(first.report.evaluation.answer.decision.reason == "after 4");
  CHECK(second.report.evaluation.answer.decision.reason == "after 4");
  CHECK(second.question.figures.gradient_conflict == 0.25);
  CHECK(std::isnan(second.question.observation.training_loss));
  REQUIRE(second.report.asked.shadows.size() == 1);
  CHECK(second.report.asked.shadows[0].answer.decision.reason == "after 4");
  CHECK(second.report.asked.state == first.report.asked.state);
  CHECK_FALSE(again.has_question());
  CHECK(again.state() == policy.state());
  CHECK(again.state() != before);
}

TEST_CASE("a question that cannot be read makes the state useless, with the reason, and changes nothing") {
  RunPolicy policy(talker());
  policy.add_shadow("gnn", std::make_unique<Consultation>(std::make_unique<OfOtherWeights>(), base::Clock(),
                                                          std::chrono::seconds(60), Pace::kImmediate));
  policy.add_shadow("random", talker());
  policy.restore(R"({"epoch":3,"shadows":{"gnn":"{}","random":"{\"epoch\":3}"}})");
  policy.begin({DecidedRun().now, {}});
  const auto before = policy.state();
  CHECK_THROWS_WITH(
      policy.restore(R"({"epoch":7,"question":{"observation":{"current_epoch":"x"}},"shadows":{"random":"{}"}})"),
      Catch::Matchers::ContainsSubstring("open question") && Catch::Matchers::ContainsSubstring("current_epoch"));
  CHECK(policy.has_question());
  CHECK(policy.state() == before);
  CHECK(policy.unread_shadows().size() == 1);
  policy.finish(4);
}

TEST_CASE("shadows are asked as well, and whatever they do changes nothing") {
  const DecidedRun run;
  const auto consultation = [](test::ScriptedController::Script script, base::Duration deadline) {
    return std::make_unique<Consultation>(test::scripted(std::move(script)), base::Clock(), deadline);
  };
  std::promise<void> end;
  RunPolicy policy(culler());
  policy.add_shadow(
      "none", consultation([](const auto&) { return leyline::Decision{{}, "nothing"}; }, std::chrono::seconds(60)));
  policy.add_shadow("random", consultation([](const auto&) -> leyline::Decision { throw std::runtime_error("no"); },
                                           std::chrono::seconds(60)));
  policy.add_shadow("gnn", consultation(
                               [ended = end.get_future().share()](const auto&) {
                                 ended.wait();
                                 return leyline::Decision{};
                               },
                               std::chrono::milliseconds(5)));
  const auto report = ask(policy, run.now);
  CHECK(report.evaluation.answer.decision.reason == "cull");
  CHECK(report.asked.answer.decision.reason == "cull");
  const auto& shadows = report.asked.shadows;
  REQUIRE(shadows.size() == 3);
  CHECK(shadows[0].policy == "none");
  CHECK(shadows[0].state == "{}");
  CHECK(shadows[0].answer.outcome == "decided");
  CHECK(shadows[0].answer.decision.reason == "nothing");
  CHECK(shadows[1].answer.outcome == "failed");
  CHECK(shadows[1].answer.problem == "no");
  CHECK(shadows[2].answer.outcome == "late");
  CHECK(ask(policy, run.now).asked.shadows[2].answer.outcome == "busy");
  CHECK(policy.figures().timeouts == 0);
  end.set_value();
}

TEST_CASE("shadows go on from their states; one that is new, or cannot read its own, starts from its initial state") {
  const DecidedRun run;
  const auto with_shadows = [](const std::vector<std::string>& kinds) {
    auto policy = std::make_unique<RunPolicy>(culler());
    for (const auto& kind : kinds) policy->add_shadow(kind, culler());
    return policy;
  };
  const auto one = with_shadows({"random"});
  ask(*one, run.now);
  CHECK(one->state() == R"({"epoch":3,"shadows":{"random":"{\"epoch\":3}"}})");
  const auto two = with_shadows({"random", "none"});
  two->restore(one->state());
  CHECK(ask(*two, run.now).asked.shadows[0].state == R"({"epoch":3})");
  const auto none = with_shadows({});
  none->restore(one->state());
  CHECK(none->state() == R"({"epoch":3})");
  const auto later = with_shadows({"random"});
  later->restore(R"({"epoch":7})");
  CHECK(later->state() == R"({"epoch":7,"shadows":{"random":"{}"}})");
  CHECK(later->unread_shadows().empty());
  CHECK(two->unread_shadows().empty());
}

TEST_CASE("a shadow whose state cannot be read starts from its initial state, and is named until the next restore") {
  RunPolicy policy(culler());
  policy.add_shadow("gnn", std::make_unique<Consultation>(std::make_unique<OfOtherWeights>(), base::Clock(),
                                                          std::chrono::seconds(60), Pace::kImmediate));
  policy.add_shadow("random", culler());
  policy.restore(R"({"epoch":3,"shadows":{"gnn":"{}","random":7}})");
  REQUIRE(policy.unread_shadows().size() == 2);
  CHECK(policy.unread_shadows()[0].kind == "gnn");
  CHECK(policy.unread_shadows()[0].reason == "it is of other weights");
  CHECK(policy.unread_shadows()[1].kind == "random");
  CHECK(policy.unread_shadows()[1].reason == "it is not a text");
  policy.restore(R"({"epoch":3,"shadows":{"random":null}})");
  REQUIRE(policy.unread_shadows().size() == 1);
  CHECK(policy.unread_shadows()[0].reason == "it is not a text");
  policy.restore(R"({"epoch":3})");
  CHECK(policy.unread_shadows().empty());
}

TEST_CASE("where the saved shadows are not an object, each shadow begins again and is named") {
  RunPolicy policy(culler());
  policy.add_shadow("none", culler());
  policy.add_shadow("random", culler());
  for (const std::string shadows : {"7", "[]", R"("none")", "null"}) {
    policy.restore(R"({"epoch":3,"shadows":)" + shadows + "}");
    REQUIRE(policy.unread_shadows().size() == 2);
    CHECK(policy.unread_shadows()[0].kind == "none");
    CHECK(policy.unread_shadows()[1].kind == "random");
    CHECK(policy.unread_shadows()[1].reason == "the saved shadows are not an object");
    CHECK(policy.state() == R"({"epoch":3,"shadows":{"none":"{}","random":"{}"}})");
  }
}

}  // namespace esper::tamiyo::run_policy_test
