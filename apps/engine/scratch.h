#pragma once
// A folder of one measurement, gone with it.

#include <string>
#include <utility>

#include "base/scratch_folder.h"

namespace esper::engine {

class Scratch {
 public:
  // cache_dir: where the measured runs keep compiled programs; empty: where all runs do. Throws as ScratchFolder does.
  explicit Scratch(std::string cache_dir = {}) : cache_dir_(std::move(cache_dir)) {}

  const std::string& folder() const { return folder_.path(); }
  std::string path(const std::string& name) const { return folder() + "/" + name; }
  const std::string& cache_dir() const { return cache_dir_; }

 private:
  base::ScratchFolder folder_{"esper-bench"};
  std::string cache_dir_;
};

}  // namespace esper::engine
