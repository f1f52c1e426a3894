#pragma once
// The configuration that a bundle keeps: the run's, as it held in the bundle's step. Any thread.

#include <cstdint>
#include <string>

#include "config/loading/load.h"

namespace esper::history {

// Where a run keeps its bundles, each named after its step.
inline constexpr const char* kBundlesFolder = "bundles";
// "step-000000037"
std::string bundle_name(std::int64_t step);
// What says of a folder that it is a bundle.
inline constexpr const char* kBundleStepFile = "step.json";

// An imported network's programs are the run's, two folders above. Throws ConfigError with all problems, IoError, and
// Error: kConfig where `bundle` is none, kCheckpoint where these programs are not there.
config::LoadedConfig read_config_of_bundle(const std::string& bundle);

}  // namespace esper::history
