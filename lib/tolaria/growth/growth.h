#pragma once
// After an epoch: seeds receive their measurements, the policy decides, and its commands are applied. Training thread.

#include <cstdint>

#include "tolaria/growth/lifecycle_log.h"
#include "tolaria/growth/observe.h"

namespace esper::tolaria {

struct GrowthFigures {
  double decide_ms = 0;                 // the policy, after the last epoch
  double hook_ms = 0;                   // the policy and its commands, after the last epoch
  std::int64_t optimizer_rebuilds = 0;  // of this process
};

class Growth {
 public:
  // probe: on the device; grafts are measured on it. Borrows the others.
  Growth(const RunFacts& facts, step::Model& model, Consultation& policy, LifecycleLog& log, Outbox& outbox,
         torch::Tensor probe);
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

  // Advances the network, the step state and the progress, whose epoch is complete afterwards.
  void end_epoch(RunProgress& progress, const EpochResults& results);

  const GrowthFigures& figures() const { return figures_; }

 private:
  void take_in(const kasmina::EpochFacts& facts);
  void apply(const leyline::Decision& decision);
  void report_no_decision(const Answer& answer);

  const RunFacts& facts_;
  step::Model& model_;
  Consultation& policy_;
  LifecycleLog& log_;
  Outbox& outbox_;
  torch::Tensor probe_;
  GrowthFigures figures_;
};

}  // namespace esper::tolaria
