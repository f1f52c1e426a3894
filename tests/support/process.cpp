#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

namespace esper::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_write();
    close(read);
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
};

// A signal that reaches the child before it becomes another program must not find the test framework's handlers.
pid_t fork_without_handlers() {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal_number : {SIGINT, SIGTERM}) signal(signal_number, SIG_DFL);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return child;
}

[[noreturn]] void become(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                         const Pipe& out, const Pipe& err) {
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out.write, STDOUT_FILENO);
  dup2(err.write, STDERR_FILENO);
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 1);
  }
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

// Reads both streams to their ends; false if the deadline passes first.
bool read_all(Pipe& out, Pipe& err, Finished& result, SteadyClock::time_point end) {
  std::array<pollfd, 2> polled{pollfd{out.read, POLLIN, 0}, pollfd{err.read, POLLIN, 0}};
  const std::array<std::string*, 2> texts{&result.out, &result.err};
  while (polled[0].fd >= 0 || polled[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - SteadyClock::now()).count();
    if (left <= 0 || poll(polled.data(), polled.size(), static_cast<int>(left)) == 0) return false;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      char buffer[65536];
      const ssize_t count = read(polled[i].fd, buffer, sizeof buffer);
      if (count > 0) {
        texts[i]->append(buffer, static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        polled[i].fd = -1;
      }
    }
  }
  return true;
}

}  // namespace

struct RunningProgram::Pipes {
  Pipe out, err;
};

RunningProgram::RunningProgram(const std::vector<std::string>& command, const std::vector<std::string>& environment)
    : pipes_(std::make_unique<Pipes>()), start_(SteadyClock::now()), child_(fork_without_handlers()) {
  if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child_ == 0) become(command, environment, pipes_->out, pipes_->err);
  pipes_->out.close_write();
  pipes_->err.close_write();
}

RunningProgram::~RunningProgram() {
  if (child_ < 0) return;
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void RunningProgram::send(int signal) const { kill(child_, signal); }

bool RunningProgram::has_ended() const {
  siginfo_t facts{};
  return waitid(P_PID, static_cast<id_t>(child_), &facts, WEXITED | WNOHANG | WNOWAIT) == 0 && facts.si_pid == child_;
}

Finished RunningProgram::wait(std::chrono::milliseconds deadline) {
  Finished result;
  result.timed_out = !read_all(pipes_->out, pipes_->err, result, SteadyClock::now() + deadline);
  if (result.timed_out) kill(child_, SIGKILL);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  result.took = SteadyClock::now() - start_;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Finished run_program(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                     std::chrono::milliseconds deadline) {
  return RunningProgram(command, environment).wait(deadline);
}

std::string with_reader_gone(const std::string& command) {
  return "folder=$(mktemp -d); { until [ -e \"$folder/gone\" ]; do sleep 0.01; done; " + command +
         "; } | { exec <&-; touch \"$folder/gone\"; }; status=${PIPESTATUS[0]}; rm -r \"$folder\"; exit $status";
}

}  // namespace esper::test
