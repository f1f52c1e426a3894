#include "tamiyo/service/run_policy.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

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

}  // namespace esper::tamiyo
