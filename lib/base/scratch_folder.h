#pragma once
// A folder for what is not to last: made under TMPDIR, else /tmp, and gone with this object. Any thread.

#include <string>
#include <string_view>

namespace esper::base {

class ScratchFolder {
 public:
  // "<TMPDIR>/<prefix>-XXXXXX", absolute. Throws Error{kResources}, with the way out.
  explicit ScratchFolder(std::string_view prefix);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  // It stays.
  void keep() { is_kept_ = true; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_kept_ = false;
};

}  // namespace esper::base
