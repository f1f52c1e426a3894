#pragma once
// The request to a loader, and its batches. Plain data.

#include <chrono>
#include <cstdint>

#include "data/dataset.h"

namespace esper::data {

enum class Order { kSequential, kShuffled };
// Pinned: batches in page-locked memory, or pageable where the driver refuses it. Only where CUDA is in use.
enum class Staging { kPageable, kPinned };
enum class WorkerLife {
  kLoader,
  kEpoch
};  // until when the threads live; the first continues to prepare the next epoch
enum class Source {
  kThreads,   // worker threads prepare batches from the data set as it was loaded
  kResident,  // the data set lies ready on the device, and next() picks batches out of it; no threads
};

struct LoaderConfig {
  std::int64_t batch_size = 64;
  std::int64_t epoch_samples = 0;  // of each epoch; 0, or more than there are: all
  int workers = 1;                 // 0: next() prepares the batch itself
  int prefetch = 2;                // batches prepared in advance, at least 1
  std::uint64_t seed = 0;
  Order order = Order::kShuffled;
  config::AugmentConfig augment;
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);  // most that next() waits for a worker
  Staging staging = Staging::kPageable;
  WorkerLife worker_life = WorkerLife::kLoader;
  Source source = Source::kThreads;
  torch::Device device = torch::kCPU;  // where a resident data set lies; batches of kThreads lie on the CPU
};

// Which batch of which epoch.
struct BatchPlace {
  std::int64_t epoch = 0, batch = 0;
};

struct Batch {
  torch::Tensor inputs;   // float32 [B, ...]; int64 [B, T] for sequences
  torch::Tensor targets;  // int64 [B], [B, H, W] or (sequences) [B, T]; float32 [B, K]
  std::int64_t epoch = 0, index = 0, size = 0;
};

// How many samples an epoch has where the data set has so many and `epoch_samples` are asked for.
std::int64_t samples_per_epoch(std::int64_t all, std::int64_t epoch_samples);
// Batches of one epoch; the last, shorter one counts.
std::int64_t batches_of(std::int64_t samples, std::int64_t batch_size);

}  // namespace esper::data
