#pragma once
// Asks a run's policy after an epoch and waits for its answer, at once or, with `policy.overlap`, while the next epoch
// trains. Training thread.

#include <optional>
#include <vector>

#include "tamiyo/service/run_policy.h"
#include "tolaria/growth/lifecycle_log.h"
#include "tolaria/growth/policy_schedule.h"

namespace esper::tolaria {

// Of the last epoch's end.
struct QuestionFigures {
  std::optional<double> decide_ms = {};            // until the policy's last answer; none where it was not asked
  bool without_decision = false;                   // the default applied
  std::vector<leyline::MetricValue> metrics = {};  // of the service's evaluation; empty without one
};

class PolicyQuestions {
 public:
  // Borrows all of it.
  PolicyQuestions(const RunFacts& facts, tamiyo::RunPolicy& policy, LifecycleLog& log)
      : facts_(facts), policy_(policy), log_(log) {}
  PolicyQuestions(const PolicyQuestions&) = delete;
  PolicyQuestions& operator=(const PolicyQuestions&) = delete;

  // An answer is to be waited for.
  bool is_open() const { return policy_.has_question(); }

  // The end of an epoch: first this, then what is open is finished, then the next question is asked.
  void begin_epoch_end();
  void ask(leyline::Observation observation, const EpochResults& results);
  // Waits for the answer, records and reports it, and returns what is to be carried out. Without a decision the epoch
  // counts as conservative. kDrop: the run ends, and what would begin now would never train.
  enum class IfDecided { kApply, kDrop };
  std::optional<leyline::Decision> finish(RunProgress& progress, IfDecided then);
  // hook_ms: how long the decisions of this epoch's end and their commands took.
  void end_epoch_end(double hook_ms);

  const QuestionFigures& figures() const { return figures_; }

 private:
  void drop(const leyline::Decision& decision);

  const RunFacts& facts_;
  tamiyo::RunPolicy& policy_;
  LifecycleLog& log_;
  QuestionFigures figures_;
  bool is_consulted_ = false;  // at this epoch's end
  double waiting_ms_ = 0;      // for the policy, at this epoch's end
  GrowthTimes last_;           // of the last epoch's end at which the policy was asked, or answered
};

}  // namespace esper::tolaria
