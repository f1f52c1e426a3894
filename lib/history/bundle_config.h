#pragma once
// The bundles of a run, and the configuration that each keeps: the run's, as it held in the bundle's step. Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file_system.h"
#include "config/loading/load.h"

namespace esper::history {

// Where a run keeps its bundles, each named after its step.
inline constexpr const char* kBundlesFolder = "bundles";
// "step-000000037"
std::string bundle_name(std::int64_t step);
// What says of a folder that it is a bundle.
inline constexpr const char* kBundleStepFile = "step.json";

// The step of such a name; nothing for other names, as that of a bundle that is being written.
std::optional<std::int64_t> bundle_step(std::string_view name);

// The path of the bundle of the latest step among those there are; empty if the run has none. Other folders and files
// are passed over, whatever their names. Throws IoError.
std::string newest_bundle(base::FileSystem& files, const std::string& run_folder);

// An imported network's programs are the run's, two folders above. Throws ConfigError with all problems, IoError, and
// Error: kConfig where `bundle` is none, kCheckpoint where these programs are not there.
config::LoadedConfig read_config_of_bundle(const std::string& bundle);

}  // namespace esper::history
