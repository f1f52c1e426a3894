#include "esper/bench_daemon/task_spooler.h"

#include <fmt/core.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "base/text/digits_only.h"
#include "esper/bench_daemon/timed_command.h"

namespace esper {
namespace {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Processes whose environment has this entry, in the order of their numbers.
std::vector<pid_t> processes_with(const std::string& entry) {
  std::vector<pid_t> found;
  std::error_code failed;
  for (const auto& process : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = process.path().filename().string();
    if (!base::digits_only(name)) continue;
    if (contents_of(process.path() / "environ").find(entry) != std::string::npos) found.push_back(std::stoi(name));
  }
  std::ranges::sort(found);
  return found;
}

// Empty where it runs.
std::string why_spooler_is_absent(const std::string& mark, base::Duration end_time) {
  try {
    const int exit_code = time_command({"tsp", "-V"}, environment_with({mark}), end_time).exit_code;
    return exit_code == 0 ? "" : fmt::format("task-spooler does not run (tsp -V: exit code {})", exit_code);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return "task-spooler is not installed";
    return fmt::format("task-spooler does not run ({})", error.what());
  }
}

}  // namespace

TaskSpooler::TaskSpooler(std::string folder, base::Duration end_time)
    : folder_(std::move(folder)), end_time_(end_time), why_absent_(why_spooler_is_absent(mark(), end_time)) {}

TaskSpooler::~TaskSpooler() {
  if (!is_here()) return;
  for (const pid_t process : processes_with(mark())) ::kill(process, SIGKILL);
}

double TaskSpooler::queue(const std::vector<std::string>& words) const {
  CommandWords command{"tsp"};
  command.insert(command.end(), words.begin(), words.end());
  return time_needed_command(command, environment_with({mark(), "TMPDIR=" + folder_}), end_time_).seconds;
}

std::vector<pid_t> TaskSpooler::processes() const {
  auto all = processes_with(mark());
  std::erase_if(all,
                [](pid_t process) { return contents_of("/proc/" + std::to_string(process) + "/comm") != "tsp\n"; });
  return all;
}

}  // namespace esper
