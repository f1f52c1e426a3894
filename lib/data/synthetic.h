#pragma once
#include "data/raw_samples.h"

namespace esper::data {

// Numbers around one centre for each class; sample i is of class i modulo classes. A function of (config, seed) alone,
// with the same bits on every machine. Throws Error{kConfig} if the numbers would not fit the memory limit.
RawSamples make_synthetic(const leyline::SyntheticConfig& config, std::uint64_t seed);

}  // namespace esper::data
