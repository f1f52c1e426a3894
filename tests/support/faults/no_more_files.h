#pragma once
// For a scope this process opens no file any more: EMFILE.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

namespace esper::test {

class NoMoreFiles {
 public:
  NoMoreFiles() {
    const int free = ::dup(STDERR_FILENO);  // the lowest number that no file has
    ::close(free);
    if (free < 0 || ::getrlimit(RLIMIT_NOFILE, &before_) < 0) std::abort();
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(free);
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace esper::test
