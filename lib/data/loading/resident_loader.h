#pragma once
// Batches picked out of a data set that lies ready on the device. Used through Loader. Which samples a batch has, and
// where they are cropped, is computed on the host.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/loading/batch_picker.h"
#include "data/loading/loader_config.h"
#include "data/loading/resident_samples.h"
#include "data/order/permutation.h"
#include "device/pinned_memory.h"

namespace esper::data {

class ResidentLoader {
 public:
  ResidentLoader(const Dataset& dataset, const Standardization& standardization, const LoaderConfig& config);
  ResidentLoader(const ResidentLoader&) = delete;
  ResidentLoader& operator=(const ResidentLoader&) = delete;

  void seek(std::int64_t epoch, std::int64_t batch);
  BatchPlace place() const { return place_; }
  std::optional<Batch> next();
  std::string pinned_refusal() const { return pinned_.refusal(); }

 private:
  void choose_samples(std::span<std::int64_t> out);
  void choose_windows(const BatchPicker::Choice& out) const;

  const LoaderConfig config_;
  const std::int64_t total_, num_batches_;
  const ResidentSamples samples_;
  BatchPicker whole_, last_;  // the epoch's last batch may be shorter
  device::PinnedMemory pinned_;
  BatchPlace place_;  // what next() returns
  std::int64_t order_epoch_ = -1;
  std::optional<Permutation> order_;  // of that epoch
};

}  // namespace esper::data
