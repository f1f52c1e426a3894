#pragma once
// The end of processes that are nobody's children here.

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "support/patience.h"

namespace esper::test {

// One that has ended may still be listed, until somebody waits for it.
inline bool is_running(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto name_end = text.rfind(')');
  return name_end != std::string::npos && text.size() > name_end + 2 && text[name_end + 2] != 'Z';
}

// Whether it has ended; waits for that.
inline bool comes_to_end(pid_t process) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (is_running(process) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return !is_running(process);
}

}  // namespace esper::test
