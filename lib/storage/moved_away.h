#pragma once
// A file or folder that is about to be replaced, out of the way meanwhile. One thread.

#include <string>
#include <vector>

#include "base/file_system.h"

namespace esper::storage {

// What was at the path is there again when the object goes, unless set_replaced() was called: then it is removed. A
// process that is killed in between leaves it as PATH.old-PID.
class MovedAway {
 public:
  // Throws IoError where it cannot be moved.
  MovedAway(base::FileSystem& files, std::string path);
  ~MovedAway();
  MovedAway(const MovedAway&) = delete;
  MovedAway& operator=(const MovedAway&) = delete;

  void set_replaced() { is_replaced_ = true; }
  // Removes it now, the entries named `last` of a folder after all others. Throws IoError; what is left then lies under
  // PATH.old-PID.
  void remove(const std::vector<std::string>& last = {});

 private:
  base::FileSystem& files_;
  std::string path_, aside_;
  bool is_replaced_ = false;
};

}  // namespace esper::storage
