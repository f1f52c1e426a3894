#pragma once
// Whether a folder that the user names is that of a run. Any thread.

#include <string>

#include "base/file_system.h"

namespace esper::history {

// Throws base::Error{kConfig} where `path` is no run folder, that is, has no config.yaml; and what open() throws where
// that cannot be read.
void require_run_folder(base::FileSystem& files, const std::string& path);

}  // namespace esper::history
