#pragma once
#include "data/files/raw_samples.h"

namespace esper::data {

// Numbers around one centre for each class; sample i is of class i modulo classes. A function of (config, seed) alone,
// with the same bits on every machine. Throws Error{kResources} if numbers and labels do not fit into memory, and
// Error{kConfig} if nothing could hold them.
RawSamples make_synthetic(const config::SyntheticConfig& config, std::uint64_t seed, const ReadOptions& options);

}  // namespace esper::data
