#pragma once
// A folder of one measurement, gone with it.

#include <string>

namespace esper::engine {

class Scratch {
 public:
  // Under TMPDIR, else /tmp. cache_dir: where the measured runs keep compiled programs; empty: where all runs do.
  // Throws Error{kResources}.
  explicit Scratch(std::string cache_dir = {});
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& cache_dir() const { return cache_dir_; }

 private:
  std::string folder_;  // absolute
  std::string cache_dir_;
};

}  // namespace esper::engine
