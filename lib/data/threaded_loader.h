#pragma once
// Batches prepared ahead by worker threads. Used through Loader.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "data/loader_config.h"
#include "data/permutation.h"
#include "data/transform.h"

namespace esper::data {

// A shuffled loader goes on to prepare the next epoch while the caller is busy at the end of one, unless its threads
// end with the epoch.
class ThreadedLoader {
 public:
  ThreadedLoader(const Dataset& dataset, const Standardization& standardization, const LoaderConfig& config);
  ~ThreadedLoader();  // waits for the batches that are being prepared at this moment, no more
  ThreadedLoader(const ThreadedLoader&) = delete;
  ThreadedLoader& operator=(const ThreadedLoader&) = delete;

  std::int64_t num_batches() const { return num_batches_; }  // of one epoch

  void seek(std::int64_t epoch, std::int64_t batch);
  std::optional<Batch> next();

 private:
  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr failure;
    bool ready() const { return batch || failure; }
  };
  Batch make_batch(std::int64_t epoch, std::int64_t index) const;
  Batch take_from_workers();
  void end_epoch();
  void start_producing();
  void stop_producing();
  bool has_work() const;
  void work();
  void start_workers();
  void stop_workers();

  const Dataset& dataset_;
  const LoaderConfig config_;
  const Transform transform_;
  const std::int64_t num_batches_;
  std::int64_t epoch_ = 0, batch_ = 0;  // what next() returns

  // Production counts batches from the place of the last seek; its number n lies in slot n modulo prefetch.
  std::mutex mutex_;
  std::condition_variable work_cv_, ready_cv_;
  std::vector<Slot> slots_;
  bool stopping_ = false, producing_ = false;
  std::uint64_t generation_ = 0;  // a result of an older one is dropped
  std::int64_t base_epoch_ = 0, base_batch_ = 0;
  std::int64_t claimed_ = 0, delivered_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace esper::data
