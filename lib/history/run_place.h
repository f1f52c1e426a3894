#pragma once
// Where a run can be made. Runs are not nested: `esper runs` lists and deletes a run folder as a whole. Any thread.

#include <string>

#include "base/file_system.h"

namespace esper::history {

// Why no run can be made in the folder `path`, with the way out; empty: it can be, as far as this goes. The folder need
// not be there.
// One that it lies in, however deep, is that of a run.
std::string why_within_run(base::FileSystem& files, const std::string& path);
// One of the folders in it is that of a run. Throws IoError where the folder cannot be listed.
std::string why_holds_runs(base::FileSystem& files, const std::string& path);

}  // namespace esper::history
