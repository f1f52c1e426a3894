#include "program/compile/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "leyline/clock.h"

namespace esper::program {
namespace {

constexpr std::size_t kMaxReplyBytes = 16u << 20;
constexpr int kScriptDescriptor = 3;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct Pipe {
  Descriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) fail("cannot make a pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Descriptor file_in_memory(std::string_view text) {
  Descriptor file(::memfd_create("esper-compile-worker", MFD_CLOEXEC));
  if (file.get() < 0) fail("cannot make a file in memory");
  while (!text.empty()) {
    const auto written = ::write(file.get(), text.data(), text.size());
    if (written <= 0) fail("cannot write a file in memory");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What the child starts with: three descriptors and the script, its own process group, no signal blocked or ignored.
struct SpawnPlan {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnPlan(int input, int output, int script) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, script, kScriptDescriptor);
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

std::string words_for(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() { reset(); }

int Descriptor::release() {
  const int number = number_;
  number_ = -1;
  return number;
}

void Descriptor::reset() {
  if (number_ >= 0) ::close(release());
}

WorkerProcess::WorkerProcess(const WorkerCommand& command) {
  auto input = make_pipe();
  auto output = make_pipe();
  auto script = file_in_memory(command.source);
  // dup2 onto the number it already has would leave close-on-exec set.
  if (script.get() == kScriptDescriptor)
    script = Descriptor(::fcntl(script.get(), F_DUPFD_CLOEXEC, kScriptDescriptor + 1));

  // -I: neither the user's packages nor PYTHON* variables change what the worker is.
  std::vector<std::string> arguments = {command.python, "-I", "/dev/fd/" + std::to_string(kScriptDescriptor)};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment;
  for (const auto& [name, value] : command.environment) environment.push_back(name + "=" + value);
  const auto argument_pointers = pointers_to(arguments);
  const auto environment_pointers = pointers_to(environment);
  const SpawnPlan plan(input.read.get(), output.write.get(), script.get());
  const int error = ::posix_spawn(&pid_, command.python.c_str(), &plan.files, &plan.attributes,
                                  argument_pointers.data(), environment_pointers.data());
  if (error != 0) {
    pid_ = -1;
    throw std::system_error(error, std::generic_category(), "cannot start " + command.python);
  }
  to_child_ = std::move(input.write);
  from_child_ = std::move(output.read);
  // A child that does not read must not hold this thread for ever.
  ::fcntl(to_child_.get(), F_SETFL, O_NONBLOCK);
}

bool WorkerProcess::send(const std::string& line) {
  constexpr int kSendTimeoutMs = 5000;
  std::string text = line + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto written = ::write(to_child_.get(), rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{to_child_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, kSendTimeoutMs) == 0) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool WorkerProcess::take_line(std::string& line) {
  const auto end = received_.find('\n');
  if (end == std::string::npos) return false;
  line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return true;
}

WorkerProcess::Read WorkerProcess::read_line(std::string& line, leyline::Duration timeout, int wake) {
  using std::chrono::milliseconds;
  const leyline::Clock clock;
  const auto deadline = clock.now() + timeout;
  while (!take_line(line)) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - clock.now());
    if (left.count() <= 0) return Read::kTimeout;
    pollfd ready[] = {{from_child_.get(), POLLIN, 0}, {wake, POLLIN, 0}};
    const int count = ::poll(ready, 2, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if (count <= 0) continue;
    if ((ready[0].revents & (POLLIN | POLLHUP)) != 0) {
      char buffer[65536];
      const auto got = ::read(from_child_.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || received_.size() > kMaxReplyBytes) return Read::kEnd;
      received_.append(buffer, static_cast<std::size_t>(got));
    } else if (ready[1].revents != 0) {
      return Read::kWoken;
    }
  }
  return Read::kLine;
}

void WorkerProcess::kill() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  end_ = words_for(status);
  pid_ = -1;
  to_child_.reset();
  from_child_.reset();
}

}  // namespace esper::program
