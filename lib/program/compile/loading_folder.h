#pragma once
// A folder for the files that torch wants to open by name while it loads a package. It goes with the object; should the
// process be killed before, the next process that loads a package finds it and takes it away. Any thread.

#include <string>
#include <string_view>

#include "base/descriptor.h"

namespace esper::program {

class LoadingFolder {
 public:
  // In the folder for temporary files. The first of a process removes those whose process no longer exists. Throws
  // IoError.
  LoadingFolder();
  ~LoadingFolder() { remove(); }
  LoadingFolder(const LoadingFolder&) = delete;
  LoadingFolder& operator=(const LoadingFolder&) = delete;

  // `name`: a plain one. Returns the file's path. Throws IoError.
  std::string put(const std::string& name, std::string_view contents) const;
  const std::string& path() const { return path_; }
  // What was mapped from it stays mapped.
  void remove();

 private:
  std::string path_;
  base::Descriptor in_use_;  // locked: the kernel unlocks it when the process ends, however it ends
};

// Takes away what killed processes of this user left. Returns how many folders.
int sweep_loading_folders();

// Removes the folders in `parent` whose name begins with `prefix`, that belong to this user and that no process has
// locked: whoever uses one holds its lock (flock), which ends with the process. Holds the lock of
// `parent` meanwhile, for those who make folders there; where somebody has it, nothing is swept. Returns how many went.
int sweep_unlocked(const std::string& parent, const std::string& prefix);

}  // namespace esper::program
