#pragma once
// What this process has read from files so far, by the kernel's count: all threads, also from the page cache.

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

namespace esper::test {

struct FileReads {
  std::uint64_t bytes = 0, calls = 0;
};

inline FileReads file_reads() {
  std::ifstream counts("/proc/self/io");
  FileReads reads;
  std::string name;
  for (std::uint64_t value = 0; counts >> name >> value;) {
    if (name == "rchar:") reads.bytes = value;
    if (name == "syscr:") reads.calls = value;
  }
  if (reads.bytes == 0 || reads.calls == 0) throw std::runtime_error("/proc/self/io counts no reads");
  return reads;
}

}  // namespace esper::test
