#pragma once
// The threads of this process, as the kernel counts them.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

#include "support/patience.h"

namespace esper::test {

inline std::ptrdiff_t num_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

// A thread that was joined is counted until the kernel has put it away, a moment later.
inline bool comes_to_threads(std::ptrdiff_t count) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (num_threads() != count) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace esper::test
