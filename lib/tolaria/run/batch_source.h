#pragma once
// The microbatches of the training steps, on the device. Training thread.
//
// On a card, and with data.gpu_prefetch, the batches of the step after the one that is handed out are on their way
// already: copied out of page-locked memory on a stream of their own, while the step computes. Nobody waits for a copy
// but the computing stream. What the loader has made is thereby one step ahead of run.progress; the cursor is the
// run's, so a saved run resumes at the right batch.

#include <vector>

#include "data/loader.h"
#include "device/staging.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

enum class LookAhead { kNone, kOneStep };

// As the run's device, configuration and loader ask for.
LookAhead look_ahead_of(const Run& run);

class BatchSource {
 public:
  // Borrows the run.
  BatchSource(Run& run, LookAhead look_ahead);

  // The next step is the one that run.progress names.
  void begin_epoch();

  // The microbatches of one optimizer step: fewer at the end of the epoch, none after it.
  void next(std::vector<step::Microbatch>& out);

  // Of the copies since the last call. The device has finished what was queued.
  device::CopyTimes take_times() { return staging_.take_times(); }

 private:
  void fetch(std::vector<step::Microbatch>& out);
  std::optional<data::Batch> wait_for_batch();
  device::StagedCopy start(const std::vector<step::Microbatch>& host);
  void take(device::StagedCopy copy, std::vector<step::Microbatch>& out);

  Run& run_;
  const LookAhead look_ahead_;
  const bool copies_;  // the loader's batches lie elsewhere than the network
  device::Staging staging_;
  bool ended_ = false;      // the loader has told the end of the epoch
  bool under_way_ = false;  // next_ is the step after the one handed out last
  device::StagedCopy next_;
  std::vector<step::Microbatch> fetched_;
  std::vector<torch::Tensor> tensors_;
};

}  // namespace esper::tolaria
