#pragma once
// A folder of one measurement, gone with it.

#include <string>

namespace esper::engine::bench {

class Scratch {
 public:
  // Under TMPDIR, else /tmp. Throws Error{kResources}.
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& folder() const { return folder_; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

}  // namespace esper::engine::bench
