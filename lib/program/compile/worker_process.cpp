#include "program/compile/worker_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "base/fault.h"

namespace esper::program {
namespace {

using base::Descriptor;

constexpr base::Duration kPatience = std::chrono::seconds(5);
constexpr int kScriptDescriptor = 3;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

Descriptor file_in_memory(std::string_view text) {
  Descriptor file(::memfd_create("esper-compile-worker", MFD_CLOEXEC));
  if (!file.is_open()) fail("cannot make a file in memory");
  while (!text.empty()) {
    const auto written = ::write(file.number(), text.data(), text.size());
    if (written <= 0) fail("cannot write a file in memory");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.number(), 0, SEEK_SET);
  return file;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the child starts with: the channel as standard input and output, the script, no other file, the root folder as
// its current one, its own process group, no signal blocked or ignored.
struct SpawnPlan {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnPlan(int channel, int script) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, channel, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, channel, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, script, kScriptDescriptor);
    // A daemon's job has files open for its children, by which the daemon knows that it lives.
    posix_spawn_file_actions_addclosefrom_np(&files, kScriptDescriptor + 1);
    // Nothing in the folder that the user happens to stand in is looked at.
    posix_spawn_file_actions_addchdir_np(&files, "/");
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

}  // namespace

WorkerProcess::WorkerProcess(const WorkerCommand& command, Descriptor theirs) : channel_(theirs) {
  auto script = file_in_memory(command.source);
  // dup2 onto the number it already has would leave close-on-exec set.
  if (script.number() == kScriptDescriptor)
    script = Descriptor(::fcntl(script.number(), F_DUPFD_CLOEXEC, kScriptDescriptor + 1));

  // -I: neither the user's packages nor PYTHON* variables change what the worker is.
  std::vector<std::string> arguments = {command.python, "-I", fmt::format("/dev/fd/{}", kScriptDescriptor)};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment;
  for (const auto& [name, value] : command.environment) environment.push_back(name + "=" + value);
  const auto argument_pointers = pointers_to(arguments);
  const auto environment_pointers = pointers_to(environment);
  const SpawnPlan plan(theirs.number(), script.number());
  const int error = ::posix_spawn(&pid_, command.python.c_str(), &plan.files, &plan.attributes,
                                  argument_pointers.data(), environment_pointers.data());
  if (error != 0) {
    pid_ = -1;
    throw std::system_error(error, std::generic_category(), "cannot start " + command.python);
  }
}

WorkerProcess::WorkerProcess(const WorkerCommand& command) : WorkerProcess(command, Descriptor()) {}

bool WorkerProcess::send(const std::string& line) {
  const bool sent = channel_.send(line, kPatience) == base::LineChannel::Send::kSent;
  if (base::fault::hit("program.worker_killed")) ::kill(-pid_, SIGKILL);
  return sent;
}

void WorkerProcess::stop_where_armed() {
  if (pid_ > 0 && base::fault::hit("program.worker_hangs")) ::kill(-pid_, SIGSTOP);
}

void WorkerProcess::kill() {
  if (pid_ < 0) return;
  end_ = base::end_group(pid_, kPatience);
  pid_ = -1;
  channel_.close();
}

}  // namespace esper::program
