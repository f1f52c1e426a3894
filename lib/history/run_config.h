#pragma once
// The resolved configuration that a run folder keeps. Any thread.

#include <string>
#include <vector>

#include "config/loading/load.h"

namespace esper::history {

// Name of the resolved configuration inside a run folder.
inline constexpr const char* kRunConfigFile = "config.yaml";
// The same of its copy of an imported network (host.path).
inline constexpr const char* kRunHostFolder = "host";

// The path of that configuration. Throws Error{kConfig} where `run_dir` is no run folder.
std::string config_in_run(const std::string& run_dir);

// The configuration that a folder keeps, where an imported network's programs are in the folder `host`. Throws as
// read_config_of_run().
config::LoadedConfig read_kept_config(const std::string& folder, const std::string& host,
                                      const std::vector<std::string>& assignments = {});

// That of a run folder, with assignments on top. It stands alone (no `extends`), and may be no link. Throws ConfigError
// with all problems, Error and IoError.
config::LoadedConfig read_config_of_run(const std::string& run_dir, const std::vector<std::string>& assignments = {});

}  // namespace esper::history
