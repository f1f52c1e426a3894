#pragma once
// For a scope this process opens no file any more: EMFILE. Where one is closed, one can be opened.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace esper::test {

class NoMoreFiles {
 public:
  NoMoreFiles() {
    if (::getrlimit(RLIMIT_NOFILE, &before_) < 0) std::abort();
    int highest = 0;
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd"))
      highest = std::max(highest, std::stoi(file.path().filename()));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(highest) + 1;
    if (::setrlimit(RLIMIT_NOFILE, &none) < 0) std::abort();
    for (int number = ::dup(STDERR_FILENO); number >= 0; number = ::dup(STDERR_FILENO)) lower_.emplace_back(number);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
  std::vector<base::Descriptor> lower_;  // all numbers below the highest one are in use
};

}  // namespace esper::test
