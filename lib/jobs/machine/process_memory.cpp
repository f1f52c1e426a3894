#include "jobs/machine/process_memory.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace esper::jobs {
namespace {

constexpr int kMostGenerations = 8;

// Of "RssAnon:     1234 kB" and the memory that is shared with nothing but its own processes.
std::int64_t resident_in(const std::string& status) {
  std::ifstream file(status);
  std::int64_t kibibytes = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t number = 0;
    if (words >> name >> number && (name == "RssAnon:" || name == "RssShmem:")) kibibytes += number;
  }
  return kibibytes * 1024;
}

std::int64_t memory_of(const std::string& pid, int generations) {
  const std::string process = "/proc/" + pid;
  std::int64_t bytes = resident_in(process + "/status");
  if (generations == 0) return bytes;
  std::error_code ended;
  for (std::filesystem::directory_iterator thread(process + "/task", ended), end; !ended && thread != end;
       thread.increment(ended)) {
    std::ifstream children(thread->path() / "children");
    for (std::string child; children >> child;) bytes += memory_of(child, generations - 1);
  }
  return bytes;
}

}  // namespace

std::int64_t own_memory_of(pid_t pid) { return memory_of(std::to_string(pid), kMostGenerations); }

}  // namespace esper::jobs
