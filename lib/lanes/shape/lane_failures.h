#pragma once
// Lanes that are rejected, and compilers that cannot be had: reported, counted, and remembered in the cache. Training
// thread.

#include <optional>
#include <string>

#include "lanes/shape/lane_context.h"
#include "program/check.h"

namespace esper::lanes {

struct Rejection {
  enum class Cause { kErred, kNoMemory, kNotFaster } cause = Cause::kErred;
  std::string reason;
  std::optional<program::Difference> where{};  // the tensor that differs from eager's, if one does
};

class LaneFailures {
 public:
  // Both outlive it.
  LaneFailures(const LaneServices& services, LaneFigures& figures) : services_(services), figures_(figures) {}

  // key: of its compiled program; empty: it has none.
  void reject(config::Lane kind, const std::string& key, const Rejection& rejection);
  // A compiled lane threw within a step of the training.
  void report_failed_step(const Lane& lane, const std::string& reason);
  // Nothing can be compiled. Reported once in a run: training goes on in the lanes that are there.
  void report_no_compiler(const std::string& kind, const std::string& reason);
  void report_no_compiler();  // there is none at all
  // A compiled program could not be brought into use; it was quarantined, or may be good.
  void report_unusable(const std::string& reason);
  // The lane is not tried at all.
  void report_not_tried(config::Lane kind, const std::string& reason);

 private:
  std::string name_of(config::Lane kind) const;

  const LaneServices& services_;
  LaneFigures& figures_;
  bool reported_no_compiler_ = false;
};

}  // namespace esper::lanes
