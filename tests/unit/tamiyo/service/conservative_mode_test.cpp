#include "tamiyo/service/conservative_mode.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::tamiyo::conservative_mode_test {

TEST_CASE("conservative mode is entered once, and left after enough calm evaluations with a closed breaker") {
  ConservativeMode mode;
  const ModeEvidence spike{.enter_reason = "loss_spike"}, calm{.is_calm = true}, not_calm{.is_calm = false};
  const ModeEvidence open{.is_calm = true, .breaker_closed = false};
  CHECK(update_mode(mode, calm, 2) == ModeChange::kNone);
  CHECK(update_mode(mode, spike, 2) == ModeChange::kEntered);
  CHECK(update_mode(mode, spike, 2) == ModeChange::kNone);
  CHECK(mode.is_active);
  CHECK(update_mode(mode, calm, 2) == ModeChange::kNone);
  CHECK(update_mode(mode, not_calm, 2) == ModeChange::kNone);
  CHECK(update_mode(mode, calm, 2) == ModeChange::kNone);
  CHECK(update_mode(mode, open, 2) == ModeChange::kNone);
  CHECK(mode.calm_evaluations == 0);
  CHECK(update_mode(mode, calm, 2) == ModeChange::kNone);
  CHECK(update_mode(mode, calm, 2) == ModeChange::kExited);
  CHECK(mode == ConservativeMode{});
}

TEST_CASE("the evaluation that enters the mode does not leave it") {
  ConservativeMode mode;
  CHECK(update_mode(mode, {.enter_reason = "loss_spike", .is_calm = true}, 1) == ModeChange::kEntered);
  CHECK(mode.is_active);
  CHECK(update_mode(mode, {.is_calm = true}, 1) == ModeChange::kExited);
}

}  // namespace esper::tamiyo::conservative_mode_test
