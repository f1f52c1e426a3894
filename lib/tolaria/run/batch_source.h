#pragma once
// The microbatches of the training steps, on the device. Training thread.
//
// On a GPU with data.gpu_prefetch, the batches of the next step are transferred while the current one computes: copied
// from page-locked memory on their own stream. Only the computing stream waits for a copy. The loader is therefore one
// step ahead of the run's cursor, and a saved run resumes at the right batch. It is waited for only once the current
// step is queued, so that the device computes meanwhile.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ledger/ledger.h"
#include "config/data_config.h"
#include "data/loading/loader.h"
#include "step/train_step.h"
#include "tolaria/run/microbatch_copies.h"

namespace esper::tolaria {

enum class LookAhead { kNone, kOneStep };

// The value of data.gpu_prefetch, if there is something to copy.
LookAhead look_ahead_for(const config::DataConfig& config, torch::Device device, const data::Loader& loader);

class BatchSource {
 public:
  // accumulation: microbatches per step. Borrows the loader and the ledger.
  BatchSource(data::Loader& loader, torch::Device device, int accumulation, LookAhead look_ahead, base::Ledger& ledger);

  // The next step begins with this microbatch of the epoch.
  void begin_epoch(std::int64_t epoch, std::int64_t batch);

  // The microbatches of one optimizer step: fewer at the end of the epoch, none after it, or where a signal asks for a
  // stop (base::Interrupt) while they are waited for.
  void next(std::vector<step::Microbatch>& out);
  // After the step was queued: starts the copies of the next one's microbatches, with look-ahead.
  void look_ahead();

  // Times of the copies since the last call. The device must have finished the queued work.
  device::CopyTimes take_times() { return copies_.take_times(); }

 private:
  void fetch(std::vector<step::Microbatch>& out);
  std::optional<data::Batch> wait_for_batch();

  data::Loader& loader_;
  base::Ledger& ledger_;
  const int accumulation_;
  const LookAhead look_ahead_;
  const bool is_elsewhere_;  // the loader's batches are on another device than the network
  MicrobatchCopies copies_;
  bool ended_ = false;                      // the loader has reported the end of the epoch
  std::optional<device::StagedCopy> next_;  // the step after the last one returned, if it is under way
  std::vector<step::Microbatch> fetched_;
};

}  // namespace esper::tolaria
