#pragma once
// What the files of a run say of it, as far as that is cheap to know: sizes, and the beginnings of some formats. Any
// thread; reads little, but waits for the file system.

#include <string>
#include <string_view>

#include "config/facts/run_forecast.h"

namespace esper::jobs {

// folder: where the run file's relative paths begin. What cannot be read is not known.
config::RunInputs run_inputs(const config::RunConfig& config, const std::string& folder);
// Whether they depend on this field of the run file ("data.path").
bool run_inputs_read(std::string_view field);

}  // namespace esper::jobs
