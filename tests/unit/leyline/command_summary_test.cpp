#include "leyline/command_summary.h"

#include <catch2/catch_test_macros.hpp>

#include "leyline/seed_command.h"

namespace esper::leyline::command_summary_test {

TEST_CASE("commands in short") {
  auto start = seed_command("1", SeedOperation::kStartTraining, "");
  start.seed_operation->slot = "r0c0";
  Decision decision;
  CHECK(summary(decision) == "nothing");
  decision.commands = {
      germination("2", "r0c0", "mlp"), start, seed_command("3", SeedOperation::kCull, "seed-0001"), {}};
  decision.commands[0].seed_operation->parameters = {{"alpha_target", 0.5}, {"alpha_ticks", 3}};
  CHECK(command_names(decision) == std::vector<std::string>{"GERMINATE mlp at r0c0 (alpha_target=0.5, alpha_ticks=3)",
                                                            "START_TRAINING at r0c0", "CULL seed-0001",
                                                            "no operation"});
  CHECK(command_name(decision.commands[0]) == "GERMINATE mlp at r0c0");
  auto other = decision;
  other.reason = "another";
  for (auto& command : other.commands) command.command_id += "x";
  CHECK(command_names(other) == command_names(decision));
}

}  // namespace esper::leyline::command_summary_test
