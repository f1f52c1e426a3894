#pragma once
// What the files of a run say of it, as far as that is cheap to know. Any thread; waits for the file system.

#include <optional>
#include <string>
#include <string_view>

#include "config/facts/run_forecast.h"
#include "jobs/schedule/file_facts.h"

namespace esper::jobs {

// folder: where the run file's relative paths begin. What cannot be read is not known.
config::RunInputs run_inputs(const config::RunConfig& config, const std::string& folder);
// The same from what is known of files already, or is read now. Nothing where the time of `files` is over before all is
// read.
std::optional<config::RunInputs> run_inputs(const config::RunConfig& config, const std::string& folder,
                                            FileFacts& files);
// Whether they depend on this field of the run file ("data.path").
bool run_inputs_read(std::string_view field);

}  // namespace esper::jobs
