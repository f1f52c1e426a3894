#include "esper/bench_daemon/process_facts.h"

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace esper {
namespace {

// The number after NAME in a file of names and values; 0: not there.
std::int64_t number_in(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t number = 0;
    if (word == name && file >> number) return number;
  }
  return 0;
}

}  // namespace

std::optional<ProcessFacts> facts_of(pid_t process) {
  const std::string folder = fmt::format("/proc/{}", process);
  ProcessFacts facts;
  facts.resident_mib = static_cast<double>(number_in(folder + "/status", "VmRSS:")) / 1024;
  if (facts.resident_mib == 0) return std::nullopt;
  std::error_code failed;
  for (const auto& thread : std::filesystem::directory_iterator(folder + "/task", failed))
    facts.wakeups += number_in(thread.path().string() + "/status", "voluntary_ctxt_switches:");
  return facts;
}

}  // namespace esper
