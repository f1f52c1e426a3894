#pragma once
// Reports epochs that take longer than their budget. Training thread.

#include "tolaria/safety/budget.h"
#include "tolaria/safety/emergency.h"

namespace esper::tolaria {

class EpochBudgets {
 public:
  // Borrows the outbox.
  EpochBudgets(const config::BudgetConfig& config, Outbox& outbox)
      : epoch_(config.epoch), hook_(config.hook), outbox_(outbox) {}

  // After an epoch: how long its training part took, and what followed its last step. A slow one is a notice, no more.
  void check(const RunProgress& progress, double train_ms, double hook_ms, Emergency& emergency);

 private:
  Budget epoch_, hook_;
  Outbox& outbox_;
};

}  // namespace esper::tolaria
