#pragma once
// Rejected lanes and unavailable compilers: reported, counted, and recorded in the cache. Training thread.

#include <optional>
#include <string>

#include "base/error.h"
#include "lanes/shape/lane_context.h"
#include "program/check.h"

namespace esper::lanes {

struct Rejection {
  enum class Cause {
    kErred,
    kNoMemory,
    kNotFaster,
    kSensitive,  // it differs from eager by about what a small change of the parameters changes in eager: it may be
                 // right
  } cause = Cause::kErred;
  std::string reason;
  std::optional<program::Difference> where{};  // the tensor that differs from eager's, if any
  std::string mac{};                           // of a compiled lane: LoadedProgram::mac
};

class LaneFailures {
 public:
  // Both must outlive it.
  LaneFailures(const LaneServices& services, LaneFigures& figures) : services_(services), figures_(figures) {}

  // key: of its compiled program; empty if it has none. The package of one that failed its check is quarantined,
  // unless its error is one that CUDA reports late: earlier work may be the cause.
  void reject(config::Lane kind, const std::string& key, const Rejection& rejection);
  // A compiled lane threw during a training step, and not for a lack of memory: reported. Returns the error that ends
  // the run, with the ways out.
  base::Error failed_step(const Lane& lane, const std::string& reason);
  // The same where an error that CUDA reports late came outside of compiled steps. key: of a program that ran before.
  base::Error late_failure(const std::string& key, const std::string& reason);
  // Nothing can be compiled. Reported once per run; training continues in the other lanes.
  void report_no_compiler(const std::string& kind, const std::string& reason);
  void report_no_compiler();  // there is no compiler
  // A compiled program could not be installed; it was quarantined, or may be good.
  void report_unusable(const std::string& reason);
  // The same of one that the cache found damaged, and has quarantined.
  void report_damaged(const std::string& damage);
  // The lane is not tried at all.
  void report_not_tried(config::Lane kind, const std::string& reason);

 private:
  std::string name_of(config::Lane kind) const;

  const LaneServices& services_;
  LaneFigures& figures_;
  bool reported_no_compiler_ = false;
};

}  // namespace esper::lanes
