#pragma once
// A policy that goes on from its saved state.

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "unit/tamiyo/simulated_run.h"

namespace esper::tamiyo {

// Compares the decisions of a policy with those of one whose state goes through JSON at each epoch. Returns the ids of
// all commands. `make`: a new policy.
template <class Make>
std::vector<std::string> check_saved_state(Make make, int epochs) {
  using Policy = decltype(make());
  SimulatedRun plain({"bad", "idle", "good"}), saved({"bad", "idle", "good"});
  Policy policy = make();
  auto other = std::make_unique<Policy>(make());
  std::vector<std::string> ids;
  for (int epoch = 1; epoch < epochs; ++epoch) {
    const auto a = plain.step(policy);
    const auto b = saved.step(*other);
    REQUIRE(a.reason == b.reason);
    REQUIRE(a.commands.size() == b.commands.size());
    for (std::size_t i = 0; i < a.commands.size(); ++i) {
      REQUIRE(a.commands[i].command_id == b.commands[i].command_id);
      REQUIRE(a.commands[i].annotations == b.commands[i].annotations);
      ids.push_back(a.commands[i].command_id);
    }
    const auto text = other->save_state();
    other = std::make_unique<Policy>(make());
    other->load_state(text);
    REQUIRE(other->save_state() == text);
  }
  return ids;
}

}  // namespace esper::tamiyo
