#pragma once
// A data set that lies ready on the device. The samples are standardised once, by the transform that the threaded
// loader uses, and images keep a frame of padded pixels around them.

#include <cstdint>
#include <vector>

#include "data/loading/loader_config.h"

namespace esper::data {

// What a resident copy of this data set takes on the device.
std::int64_t resident_bytes(const Dataset& dataset, const config::AugmentConfig& augment);

struct ResidentSamples {
  torch::Tensor inputs, targets;                             // of sequences, overlapping windows at every token
  std::vector<std::int64_t> starts{};                        // of sequences: the row of each sample; else empty
  std::vector<std::int64_t> sample_sizes{}, target_sizes{};  // of one sample, without the frame
};

// On config.device. Throws Error{kConfig} if crop or flip is asked for and the samples are no images, Error{kResources}
// where the host lacks the memory.
ResidentSamples resident_samples(const Dataset& dataset, const Standardization& standardization,
                                 const LoaderConfig& config);

}  // namespace esper::data
