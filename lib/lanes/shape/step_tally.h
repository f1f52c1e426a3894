#pragma once
// Which lane ran the last step, and the number of steps of each. Plain data.

#include <cstdint>
#include <string>

#include "lanes/lane/lane.h"
#include "lanes/lane/lane_figures.h"

namespace esper::lanes {

struct StepTally {
  std::int64_t epoch_steps = 0, epoch_compiled_steps = 0;
  std::uint64_t bits = 0;           // Lane::bits() of the last step
  std::string key{};                // of the compiled program that ran it, or empty
  std::string last_compiled_key{};  // of the last step that one ran

  void count(LaneFigures& figures, config::Lane kind) {
    figures.in_use = kind;
    ++figures.steps[static_cast<std::size_t>(kind)];
    ++epoch_steps;
    if (kind == config::Lane::kCompiled) ++epoch_compiled_steps;
  }
  void ran_eager(LaneFigures& figures) {
    count(figures, config::Lane::kEager);
    if (bits == 0) return;
    bits = 0;
    key.clear();
  }
  void ran(LaneFigures& figures, const Lane& lane) {
    count(figures, lane.kind());
    if (bits == lane.bits()) return;
    bits = lane.bits();
    key = lane.key();
    if (!key.empty()) last_compiled_key = key;
  }
};

}  // namespace esper::lanes
