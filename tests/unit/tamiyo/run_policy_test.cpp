#include "tamiyo/service/run_policy.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <future>
#include <stdexcept>

#include "support/scripted_controller.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo {
namespace {

std::unique_ptr<Consultation> culler() {
  return std::make_unique<Consultation>(
      test::scripted([](const leyline::Observation& seen) {
        return leyline::Decision{
            {leyline::seed_command(test::command_id(seen), leyline::SeedOperation::kCull, "seed-9999")}, "cull"};
      }),
      base::Clock(), std::chrono::seconds(60), Pace::kImmediate);
}

}  // namespace

TEST_CASE("a policy that is asked directly is not judged; the service does not carry out what it cannot trust") {
  const DecidedRun run;
  RunPolicy direct(culler());
  RunPolicy served(std::make_unique<PolicyService>(culler(), ServiceSettings{}, base::Clock()));
  const auto plain = direct.ask(run.now);
  CHECK(plain.evaluation.answer.decision.commands.size() == 1);
  CHECK(plain.metrics.empty());
  const auto judged = served.ask(run.now);
  CHECK(judged.evaluation.answer.kind == Answer::Kind::kFailed);
  CHECK(judged.evaluation.answer.decision.commands.empty());
  CHECK_FALSE(judged.metrics.empty());
}

TEST_CASE("both forms go on from their saved states") {
  const DecidedRun run;
  RunPolicy direct(culler());
  direct.ask(run.now);
  CHECK(direct.state() == "{\"epoch\":3}");
  RunPolicy served(std::make_unique<PolicyService>(culler(), ServiceSettings{}, base::Clock()));
  served.ask(run.now);
  RunPolicy again(std::make_unique<PolicyService>(culler(), ServiceSettings{}, base::Clock()));
  again.restore(served.state());
  CHECK(again.state() == served.state());
  direct.restore("{}");
  CHECK(direct.state() == "{}");
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
  const auto report = policy.ask(run.now);
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
  CHECK(policy.ask(run.now).asked.shadows[2].answer.outcome == "busy");
  CHECK(policy.figures().timeouts == 0);
  end.set_value();
}

TEST_CASE("shadows go on from their states; one that is new, or cannot read its own, begins anew") {
  const DecidedRun run;
  const auto with_shadows = [](const std::vector<std::string>& kinds) {
    auto policy = std::make_unique<RunPolicy>(culler());
    for (const auto& kind : kinds) policy->add_shadow(kind, culler());
    return policy;
  };
  const auto one = with_shadows({"random"});
  one->ask(run.now);
  CHECK(one->state() == R"({"epoch":3,"shadows":{"random":"{\"epoch\":3}"}})");
  const auto two = with_shadows({"random", "none"});
  two->restore(one->state());
  CHECK(two->ask(run.now).asked.shadows[0].state == R"({"epoch":3})");
  const auto none = with_shadows({});
  none->restore(one->state());
  CHECK(none->state() == R"({"epoch":3})");
  const auto later = with_shadows({"random"});
  later->restore(R"({"epoch":7})");
  CHECK(later->state() == R"({"epoch":7,"shadows":{"random":"{}"}})");
}

}  // namespace esper::tamiyo
