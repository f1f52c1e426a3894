#pragma once
// Whether a network's outputs are for such targets as data have: of a class for each pixel, or one for each sample.

#include <string>

#include "config/run_config.h"
#include "data/dataset.h"

namespace esper::engine {

// Why they are not, with the way out; empty where they are, and where the host cannot be read. How many classes there
// are is no matter of this.
std::string misfit_of_targets(const config::RunConfig& config, const data::Dataset& data);

}  // namespace esper::engine
