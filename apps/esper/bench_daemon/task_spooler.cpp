#include "esper/bench_daemon/task_spooler.h"

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

}  // namespace

TaskSpooler::TaskSpooler(std::string folder) : folder_(std::move(folder)) {
  try {
    is_here_ = time_command({"tsp", "-V"}, environment_with({mark()})).exit_code == 0;
  } catch (const std::system_error&) {  // it is not installed
  }
}

TaskSpooler::~TaskSpooler() {
  if (!is_here_) return;
  for (const pid_t process : processes_with(mark())) ::kill(process, SIGKILL);
}

double TaskSpooler::queue(const std::vector<std::string>& words) const {
  CommandWords command{"tsp"};
  command.insert(command.end(), words.begin(), words.end());
  return time_command(command, environment_with({mark(), "TMPDIR=" + folder_})).seconds;
}

std::vector<pid_t> TaskSpooler::processes() const {
  auto all = processes_with(mark());
  std::erase_if(all,
                [](pid_t process) { return contents_of("/proc/" + std::to_string(process) + "/comm") != "tsp\n"; });
  return all;
}

}  // namespace esper
