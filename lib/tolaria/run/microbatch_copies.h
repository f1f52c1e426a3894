#pragma once
// The copies of a step's microbatches to the device, accounted to the ledger. Training thread.

#include <vector>

#include "base/ledger/ledger.h"
#include "device/staging.h"
#include "step/train_step.h"

namespace esper::tolaria {

class MicrobatchCopies {
 public:
  // Borrows the ledger.
  MicrobatchCopies(torch::Device device, device::Staging::Stream stream, base::Ledger& ledger)
      : ledger_(ledger), staging_(device, stream) {}

  // As Staging::start().
  device::StagedCopy start(const std::vector<step::Microbatch>& host);
  // As Staging::take(); `out` has only these then.
  void take(device::StagedCopy copy, std::vector<step::Microbatch>& out);
  device::CopyTimes take_times() { return staging_.take_times(); }

 private:
  base::Ledger& ledger_;
  device::Staging staging_;
  std::vector<torch::Tensor> tensors_;
};

}  // namespace esper::tolaria
