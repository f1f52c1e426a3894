#pragma once
// Whether a network's outputs are for such targets as data have: of a class for each pixel, or one for each sample; and
// whether it can learn them.

#include <string>

#include "config/run_config.h"
#include "data/dataset.h"

namespace esper::engine {

// Why they are not, with the way out; empty where they are, and where the host cannot be read. How many classes there
// are is no matter of this.
std::string misfit_of_targets(const config::RunConfig& config, const data::Dataset& data);

// Of a regression: the first target whose numbers are so large that a network hardly learns them; empty: there is none.
std::string doubt_of_targets(const config::RunConfig& config, const data::Dataset& data);

}  // namespace esper::engine
