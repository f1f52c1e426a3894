#pragma once
// Where results go is tried before anything is measured, so that minutes of measuring are not lost to a wrong name.

#include <string>

#include "base/file_system.h"

namespace esper::engine::bench {

// Makes the folder and writes and removes a file in it. Throws Error{kResources} that names the flag and the folder.
void open_output_folder(base::FileSystem& files, const std::string& folder, const std::string& flag);

}  // namespace esper::engine::bench
