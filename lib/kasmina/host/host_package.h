#pragma once
// The folder of an imported network: host.json, two programs, weights, and a manifest with their hashes. Any thread.

#include <string>

#include "base/file_system.h"
#include "config/host_config.h"

namespace esper::kasmina {

// Publishes the files of the folder `from` as the folder `to`, which must not exist. Throws IoError.
void publish_host_package(const std::string& from, base::FileSystem& files, const std::string& to);

// The run folder's own copy, `to`, of the network that the run begins with; nothing where that is not imported.
void keep_host_package(const config::HostConfig& host, base::FileSystem& files, const std::string& to);

}  // namespace esper::kasmina
