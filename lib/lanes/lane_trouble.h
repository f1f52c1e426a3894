#pragma once
// Lanes that are put away, and compilers that cannot be had: told, counted, and remembered in the cache. Training
// thread.

#include <string>

#include "lanes/fast_lane.h"
#include "lanes/lane_figures.h"
#include "lanes/runner_services.h"
#include "program/check.h"

namespace esper::lanes {

class LaneTrouble {
 public:
  enum class Cause { kErred, kNoMemory, kNotFaster };

  // Both outlive it.
  LaneTrouble(const RunnerServices& services, LaneFigures& figures) : services_(services), figures_(figures) {}

  // where: the tensor that differs from eager's; null: the reason is another one.
  void put_away(const FastLane& lane, Cause cause, const std::string& reason, const program::Difference* where);
  // It threw within a step of the training.
  void put_away_failed(const FastLane& lane, const std::string& reason);
  // Nothing can be compiled. Said once in a run: training goes on in the lanes that are there.
  void tell_no_compiler(const std::string& kind, const std::string& reason);

 private:
  const RunnerServices& services_;
  LaneFigures& figures_;
  bool told_no_compiler_ = false;
};

}  // namespace esper::lanes
