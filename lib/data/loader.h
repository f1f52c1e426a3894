#pragma once
// Batches of a data set, epoch after epoch, prepared ahead by worker threads.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "data/dataset.h"
#include "data/permutation.h"
#include "data/transform.h"

namespace esper::data {

enum class Order { kSequential, kShuffled };
enum class Staging { kPageable, kPinned };  // pinned: batches in page-locked memory; only where CUDA is in use

struct LoaderConfig {
  std::int64_t batch_size = 64;
  int workers = 1;   // 0: next() prepares the batch itself
  int prefetch = 2;  // batches prepared ahead, at least 1
  std::uint64_t seed = 0;
  Order order = Order::kShuffled;
  leyline::AugmentConfig augment;
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);  // most that next() waits for a worker
  Staging staging = Staging::kPageable;
};

struct Batch {
  torch::Tensor inputs;   // float32 [B, ...]; int64 [B, T] for sequences
  torch::Tensor targets;  // int64 [B]; [B, T] for sequences
  std::int64_t epoch = 0, index = 0, size = 0;
};

// The data set must outlive the loader. One thread calls it. A batch is a function of (data set, configuration, epoch,
// index) alone: number of workers, prefetch and earlier batches change no bit. The last, shorter batch of an epoch is
// kept. A shuffled loader goes on to prepare the next epoch while the caller is busy at the end of one.
class Loader {
 public:
  Loader(const Dataset& dataset, const Standardization& standardization, const LoaderConfig& config);
  ~Loader();  // waits for the batches that are being prepared at this moment, no more
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t num_batches() const { return num_batches_; }  // of one epoch

  // The next batch will be (epoch, batch); batch == num_batches() is the epoch's end. O(1).
  void seek(std::int64_t epoch, std::int64_t batch);

  // The next batch; nothing at the end of an epoch, once, and then the next epoch begins. Rethrows what went wrong
  // while the batch was prepared, and again at each call until a seek. Throws Error{kData} when the deadline passes;
  // the batch can still be asked for.
  std::optional<Batch> next();

  // Time spent in next() so far, in nanoseconds.
  std::int64_t wait_ns() const { return wait_ns_; }

 private:
  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr failure;
    bool ready() const { return batch || failure; }
  };
  Batch make_batch(std::int64_t epoch, std::int64_t index) const;
  std::optional<Batch> take();
  Batch take_from_workers();
  void start_producing();
  void stop_producing();
  bool has_work() const;
  void work();
  void stop_workers();

  const Dataset& dataset_;
  const LoaderConfig config_;
  const Transform transform_;
  const std::int64_t num_batches_;
  std::int64_t epoch_ = 0, batch_ = 0;  // what next() returns
  std::int64_t wait_ns_ = 0;

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
