#pragma once
// Samples to a batch in one pass: gather, to float, standardise, crop, flip. Targets of a regression are standardised
// likewise.

#include <span>

#include "data/dataset.h"

namespace esper::data {

// All that the random changes of a batch depend on: not the worker, not the batches before.
struct AugmentDraw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::int64_t first_position = 0;  // of the batch's first sample in the epoch's order
};

// Reads the data set, which must outlive it. Immutable; any thread. Plain loops over memory, no torch operators: it
// neither starts torch's threads nor depends on how many there are.
class Transform {
 public:
  // Throws Error{kConfig} if crop or flip is asked for and the samples are no images, or have a class for each pixel.
  Transform(const Dataset& dataset, const Standardization& standardization, const config::AugmentConfig& augment);

  // Sizes of a batch of `count` samples: [B, ...] for inputs; for targets [B], [B, K], [B, H, W] or (sequences) [B, T].
  std::vector<std::int64_t> input_sizes(std::int64_t count) const;
  std::vector<std::int64_t> target_sizes(std::int64_t count) const;
  torch::ScalarType input_type() const;   // float32; int64 for sequences
  torch::ScalarType target_type() const;  // int64; float32 for tasks multilabel and regression

  // Fills contiguous CPU tensors of those sizes and types with the named samples. A padded pixel is 0 before
  // standardisation.
  void fill(std::span<const std::int64_t> samples, const AugmentDraw& draw, torch::Tensor& inputs,
            torch::Tensor& targets) const;

  // A padded pixel of an image's channel in the output.
  float padding_of(std::int64_t channel) const {
    return (0.f - mean_[static_cast<std::size_t>(channel)]) / deviation_[static_cast<std::size_t>(channel)];
  }

 private:
  template <class T>
  void fill_features(std::span<const std::int64_t> samples, float* out) const;
  template <class T>
  void fill_images(std::span<const std::int64_t> samples, const AugmentDraw& draw, float* out) const;
  void fill_targets(std::span<const std::int64_t> samples, torch::Tensor& targets) const;
  void standardise_targets(float* values, std::int64_t count) const;
  template <class Token>
  void fill_windows(std::span<const std::int64_t> samples, std::int64_t* inputs, std::int64_t* targets) const;

  const Dataset& dataset_;
  config::AugmentConfig augment_;
  std::vector<float> mean_, deviation_;                // one a group, 0 and 1 where nothing is standardised
  std::vector<float> target_mean_, target_deviation_;  // one a target; empty where they are taken as they are
  std::vector<float> pixel_values_;                    // uint8 images: [C, 256], the result for each pixel value
};

}  // namespace esper::data
