#include "tamiyo/service/decision_check.h"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <limits>

#include "leyline/seed_command.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::decision_check_test {
namespace {

using Kind = DecisionProblem::Kind;
using leyline::SeedOperation;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

leyline::Decision with_command(leyline::AdaptationCommand command) {
  return {{std::move(command)}, "as the test says"};
}

Kind kind_of(const leyline::Decision& decision) {
  const auto checked = check_decision(decision, DecidedRun().now);
  REQUIRE_FALSE(checked);
  CHECK_FALSE(checked.error().text.empty());
  return checked.error().kind;
}

bool passes(const leyline::Decision& decision) { return check_decision(decision, DecidedRun().now).has_value(); }

}  // namespace

TEST_CASE("what names a free slot with its blueprint, a seed, or nothing, passes") {
  CHECK(passes({}));
  CHECK(passes(with_command(leyline::germination("a", "r0c1", "conv_light"))));
  CHECK(passes(with_command(leyline::seed_command("a", SeedOperation::kCull, "seed-0001"))));
  auto start = leyline::seed_command("a", SeedOperation::kStartTraining, "");
  start.seed_operation->slot = "r0c1";
  CHECK(passes(with_command(start)));
}

TEST_CASE("a germination of several copies passes where the slot can grow one") {
  auto now = DecidedRun().now;
  now.slots[0].blueprints.push_back("copy_block");
  const auto& slot = now.slots[0].slot;
  CHECK(check_decision(with_command(leyline::germination("a", slot, "copy_block*3")), now));
  CHECK_FALSE(check_decision(with_command(leyline::germination("a", slot, "copy_block_plain*3")), now));
}

TEST_CASE("unknown slots, seeds and blueprints are named") {
  CHECK(kind_of(with_command(leyline::germination("a", "r0c9", "norm"))) == Kind::kUnknownSeed);
  CHECK(kind_of(with_command(leyline::germination("a", "r0c1", "atention"))) == Kind::kUnknownBlueprint);
  CHECK(kind_of(with_command(leyline::germination("a", "r0c2", "norm"))) == Kind::kUnknownBlueprint);
  CHECK(kind_of(with_command(leyline::seed_command("a", SeedOperation::kCull, "seed-0009"))) == Kind::kUnknownSeed);
  CHECK(kind_of(with_command(leyline::seed_command("a", SeedOperation::kStartTraining, ""))) == Kind::kUnknownSeed);
}

TEST_CASE("a command without id, type or operation, with KEEP, or with a parameter that is no number is malformed") {
  const std::function<void(leyline::AdaptationCommand&)> faults[] = {
      [](auto& it) { it.command_id.clear(); },
      [](auto& it) { it.command_type = leyline::CommandType::kUnknown; },
      [](auto& it) { it.seed_operation.reset(); },
      [](auto& it) { it.seed_operation->operation = SeedOperation::kKeep; },
      [](auto& it) { it.seed_operation->operation = static_cast<SeedOperation>(99); },
      [](auto& it) { it.seed_operation->parameters["alpha_target"] = kNan; }};
  for (const auto& fault : faults) {
    auto command = leyline::germination("a", "r0c1", "conv_light");
    fault(command);
    CHECK(kind_of(with_command(command)) == Kind::kMalformed);
  }
}

TEST_CASE("figures that are no numbers, and far too many commands, are malformed") {
  for (const auto figure : {&leyline::Assessment::value, &leyline::Assessment::risk, &leyline::Assessment::coverage,
                            &leyline::Assessment::seed_score}) {
    leyline::Decision decision;
    decision.assessment.emplace();
    CHECK(passes(decision));
    (*decision.assessment).*figure = kNan;
    CHECK(kind_of(decision) == Kind::kMalformed);
  }
  leyline::Decision many;
  many.commands.assign(kMostCommands, leyline::seed_command("a", SeedOperation::kCull, "seed-0001"));
  CHECK(passes(many));
  many.commands.push_back(many.commands.front());
  CHECK(kind_of(many) == Kind::kMalformed);
}

}  // namespace esper::tamiyo::decision_check_test
