#pragma once
// Where the samples of a sequence begin. Any thread.

#include <torch/types.h>

#include <string>

#include "config/data_config.h"

namespace esper::data {

// Of a part of so many tokens: int64 [N], windows of data.context tokens side by side, thinned to data.max_samples;
// each needs one token more as its last target. `unit`: "characters". Throws Error{kData} naming `file` where not one
// fits.
torch::Tensor window_starts(std::int64_t tokens, const config::DataConfig& config, const std::string& file,
                            const char* unit);

}  // namespace esper::data
