#pragma once
// Where a run can be made. Runs are not nested: `esper runs` lists and deletes a run folder as a whole. Any thread.

#include <cstddef>
#include <string>

#include "base/file_system.h"

namespace esper::history {

// How far runs are looked for in a folder: as deep as `esper runs` looks, and in no more folders than this.
inline constexpr int kMostLevelsBelow = 4;
inline constexpr std::size_t kMostFoldersBelow = 10'000;

// Both: why no run can be made in the folder `path`, with the way out; empty: this does not prevent it. The folder need
// not exist.
// It lies in a run's folder, however deep.
std::string why_within_run(base::FileSystem& files, const std::string& path);
// A folder below it is a run's; links are not followed. Throws IoError where the folder cannot be listed; what lies in
// it and cannot be listed is passed over.
std::string why_holds_runs(base::FileSystem& files, const std::string& path);

}  // namespace esper::history
