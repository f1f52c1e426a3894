#pragma once
// Batches picked out of a data set that lies ready on the device. Used through Loader.
//
// The samples are standardised once, by the transform that the threaded loader uses, and images keep a frame of
// padded pixels around them. What is left for a batch is to pick: rows of the set, or for crop and flip the pixels of a
// window, so no arithmetic can change a bit. Which ones is computed on the host and sent in one small copy.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/loader_config.h"
#include "data/order/permutation.h"
#include "device/pinned_memory.h"

namespace esper::data {

// What a resident copy of this data set takes on the device.
std::int64_t resident_bytes(const Dataset& dataset, const config::AugmentConfig& augment);

class ResidentLoader {
 public:
  ResidentLoader(const Dataset& dataset, const Standardization& standardization, const LoaderConfig& config);
  ~ResidentLoader();
  ResidentLoader(const ResidentLoader&) = delete;
  ResidentLoader& operator=(const ResidentLoader&) = delete;

  void seek(std::int64_t epoch, std::int64_t batch);
  BatchPlace place() const { return {epoch_, batch_}; }
  std::optional<Batch> next();
  std::string pinned_refusal() const { return pinned_.refusal(); }

 private:
  struct Shape;  // what is kept for each size of batch: the epoch's last one may be shorter
  struct Pair {
    torch::Tensor inputs, targets;
  };

  void keep_samples(const Dataset& dataset, const Standardization& standardization);
  void keep_windows(const Dataset& dataset);
  std::unique_ptr<Shape> make_shape(std::int64_t size) const;
  void choose_rows(Shape& shape);
  void choose_windows(Shape& shape);
  Pair free_pair(Shape& shape) const;
  void pick(Shape& shape, Pair& out) const;

  const LoaderConfig config_;
  const std::int64_t total_, num_batches_;
  const bool augmented_;              // pixel by pixel, not row by row
  torch::Tensor inputs_, targets_;    // on the device; of sequences, overlapping windows at every token
  std::vector<std::int64_t> starts_;  // of sequences: the row of each sample; else empty
  std::vector<std::int64_t> sample_sizes_, target_sizes_;
  std::unique_ptr<Shape> whole_, last_;
  device::PinnedMemory pinned_;
  std::int64_t epoch_ = 0, batch_ = 0;  // what next() returns
  std::int64_t order_epoch_ = -1;
  std::optional<Permutation> order_;  // of that epoch
};

}  // namespace esper::data
