#pragma once
// Picks batches of one size out of a resident data set: rows of it, or for crop and flip the pixels of a window, so no
// arithmetic can change a bit. What is picked is written on the host and sent in one small copy. One thread.

#include <ATen/core/List.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/loading/resident_samples.h"
#include "device/pinned_memory.h"

namespace esper::data {

class BatchPicker {
 public:
  enum class By { kSample, kPixel };

  // Borrows the samples.
  BatchPicker(const ResidentSamples& samples, By by, std::int64_t size);
  BatchPicker(const BatchPicker&) = delete;
  BatchPicker& operator=(const BatchPicker&) = delete;

  std::int64_t size() const { return size_; }

  // What pick() takes, to be written before. The second and third are empty where samples are picked as they are.
  struct Choice {
    std::span<std::int64_t> samples;  // [size]: rows of ResidentSamples
    std::span<std::int64_t> rows;     // [size * height]: each pixel row's source, in the framed image
    std::span<std::int64_t> columns;  // [size * width]
  };
  Choice begin(device::PinnedMemory& pinned);

  struct Pair {
    torch::Tensor inputs, targets;
  };
  // The caller's; its memory is used again once it comes free.
  Pair pick();

 private:
  Pair free_pair();

  const ResidentSamples& samples_;
  const By by_;
  const std::int64_t size_;
  // The parts of a Choice one after the other, int64. On the CPU both are the same memory.
  torch::Tensor host_, chosen_;
  c10::List<std::optional<torch::Tensor>> coordinates_;  // of pixels: parts of chosen_, to be broadcast
  std::vector<Pair> pairs_;                              // handed out, and used again when they come free
};

}  // namespace esper::data
