#pragma once
// Batches prepared in advance by worker threads. Used through Loader.

#include <chrono>
#include <optional>
#include <string>

#include "data/loading/loader_config.h"
#include "data/loading/prefetch.h"
#include "data/loading/transform.h"
#include "device/pinned_memory.h"

namespace esper::data {

// A shuffled loader continues to prepare the next epoch while the caller is busy at the end of one, unless its threads
// end with the epoch. A data set that a process produces is fetched by one thread, in the process's own order.
class ThreadedLoader {
 public:
  ThreadedLoader(const Dataset& dataset, const Standardization& standardization, const LoaderConfig& config);

  ~ThreadedLoader();
  ThreadedLoader(const ThreadedLoader&) = delete;
  ThreadedLoader& operator=(const ThreadedLoader&) = delete;

  void seek(std::int64_t epoch, std::int64_t batch);
  BatchPlace place() const { return {epoch_, batch_}; }
  std::optional<Batch> next(std::chrono::nanoseconds after_signal);
  std::string pinned_refusal() const { return pinned_.refusal(); }

 private:
  torch::Tensor host_tensor(torch::IntArrayRef sizes, torch::ScalarType type);
  Batch make_batch(std::int64_t epoch, std::int64_t index);
  Batch fetched_batch(Batch batch) const;
  std::optional<Batch> take_from_workers(std::chrono::nanoseconds after_signal);
  void end_epoch();
  void start_producing();

  const Dataset& dataset_;
  const LoaderConfig config_;
  const Transform transform_;
  const std::int64_t num_batches_;      // of one epoch
  std::int64_t epoch_ = 0, batch_ = 0;  // what next() returns
  device::PinnedMemory pinned_;
  Prefetch<Batch> prefetch_;  // numbers are batches since the beginning of epoch 0
};

}  // namespace esper::data
