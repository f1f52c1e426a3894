#pragma once
// Changes the network after an epoch, by its seeds' measurements and by commands; moments, averages and controls
// follow. Training thread.

#include <cstdint>
#include <vector>

#include "tamiyo/service/run_policy.h"
#include "tolaria/growth/control.h"
#include "tolaria/growth/lifecycle_log.h"
#include "tolaria/run/epoch_end_transaction.h"

namespace esper::tolaria {

class NetworkChanges {
 public:
  // probe: on the device; grafts are measured on it. Borrows what `evaluation` refers to, and the others.
  NetworkChanges(const Evaluation& evaluation, tamiyo::RunPolicy& policy, LifecycleLog& log, const Saver& saver,
                 torch::Tensor probe);
  NetworkChanges(const NetworkChanges&) = delete;
  NetworkChanges& operator=(const NetworkChanges&) = delete;

  // Seeds receive their measurements, and some are removed for them. The seeds that grew, as kasmina::EndedEpoch has
  // them.
  std::vector<leyline::SeedState> end_epoch(const kasmina::EpochFacts& facts);
  // Carries the commands out in order, a germination after its control was trained, where the evidence is one.
  // Interrupted by a signal while it trains a control: those that follow are not carried out.
  EpochEnd apply(RunProgress& progress, const leyline::Decision& decision);

  // Of this process.
  std::int64_t optimizer_rebuilds() const { return optimizer_rebuilds_; }

 private:
  TrainedControl train_control(RunProgress& progress);
  void reject(const leyline::AdaptationCommand& command, const NoControl& rejection, const Cause& cause);
  // Whether it was rejected.
  bool report_rejection(const leyline::AdaptationCommand& command,
                        const std::vector<kasmina::LifecycleEvent>& happened);
  void keep(RunProgress& progress, const std::vector<kasmina::LifecycleEvent>& happened, TrainedControl control);

  Evaluation evaluation_;
  tamiyo::RunPolicy& policy_;
  LifecycleLog& log_;
  const Saver& saver_;
  torch::Tensor probe_;
  std::int64_t optimizer_rebuilds_ = 0;
};

}  // namespace esper::tolaria
