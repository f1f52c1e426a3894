#include "jobs/process/shim.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/file_system.h"
#include "base/signal_point.h"
#include "base/text/child_process.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::jobs {
namespace {

constexpr timespec kWriteAgain{0, 500'000'000};  // where the disk is full

sigset_t awaited_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, kShimStop, SIGINT, SIGHUP, kShimKill}) sigaddset(&signals, signal);
  return signals;
}

base::Descriptor open_or_fail(const std::string& path, int flags) {
  base::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) throw base::IoError("open", path, errno);
  return file;
}

base::ChildPlan trainer_plan(const AttemptRecord& attempt, int output) {
  return {.command = attempt.command,
          .files = {{STDOUT_FILENO, output}, {STDERR_FILENO, output}, {kShimLock, kShimLock}, {kShimAlive, kShimAlive}},
          .environment = attempt.environment,
          .folder = attempt.folder,
          .lifetime = base::ChildLifetime::kStoppedWithParent};
}

void fill_in(ExitRecord& record, int status) {
  if (WIFEXITED(status)) record.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) record.signal = WTERMSIG(status);
  struct rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  record.peak_bytes = used.ru_maxrss * 1024;
}

// False: the disk is full.
bool write_if_room(const std::string& path, const nlohmann::json& record) {
  try {
    write_record(path, record);
    return true;
  } catch (const base::IoError& error) {
    if (!error.out_of_space()) throw;
    return false;
  }
}

// At a second SIGTERM a trainer ends without saving, and each daemon that takes over a stopping job sends one. So only
// the first is passed on.
void pass_on(int signal, pid_t trainer, bool& is_stopping) {
  if (signal == kShimKill) {
    ::kill(-trainer, SIGKILL);  // the group that it leads
  } else if (signal > 0 && signal != SIGCHLD && !std::exchange(is_stopping, true)) {
    ::kill(trainer, SIGTERM);
  }
}

// Until the trainer has ended. The daemon needs the record of the processes: where the disk is full, it is written once
// there is room, and requests to stop are passed on meanwhile.
void await_trainer(pid_t trainer, const sigset_t& signals, const JobFolder& folder, const ProcessRecord& processes,
                   ExitRecord& record) {
  bool is_written = false, is_stopping = false;
  while (true) {
    if (!is_written) is_written = write_if_room(folder.process(), base::to_json(processes));
    int status = 0;
    if (::waitpid(trainer, &status, WNOHANG) == trainer) return fill_in(record, status);
    const int signal = is_written ? ::sigwaitinfo(&signals, nullptr) : ::sigtimedwait(&signals, nullptr, &kWriteAgain);
    pass_on(signal, trainer, is_stopping);
  }
}

void train(const JobFolder& folder, const AttemptRecord& attempt, const sigset_t& signals, ExitRecord& record) {
  const auto output = open_or_fail(folder.output(), O_WRONLY | O_CREAT | O_APPEND);
  if (storage::real_file_system().kind_of(attempt.folder) != base::PathKind::kFolder) {
    record.problem = "the folder from which it was submitted, " + attempt.folder + ", is gone";
    return;
  }
  try {
    const pid_t trainer = base::start_child(trainer_plan(attempt, output.number()));
    base::fault::kill_point("jobs.shim_has_trainer");
    const ProcessRecord processes{attempt.attempt, identity_of(::getpid()).value_or(ProcessIdentity{}),
                                  identity_of(trainer).value_or(ProcessIdentity{})};
    await_trainer(trainer, signals, folder, processes, record);
  } catch (const std::system_error& error) {
    record.problem = error.what();
    record.error = error.code().value();
  }
}

}  // namespace

pid_t start_shim(const JobFolder& folder, const std::string& program, base::Descriptor lock) {
  // For both reading and writing: opening a FIFO for writing alone waits for a reader.
  const auto alive = open_alive(folder, O_RDWR);
  const auto writing = open_alive(folder, O_WRONLY);
  const auto nothing = open_or_fail("/dev/null", O_RDWR);
  const auto log = open_or_fail(folder.output(), O_WRONLY | O_CREAT | O_APPEND);
  return base::start_child({.command = {program, "job-shim", folder.path},
                            .files = {{STDIN_FILENO, nothing.number()},
                                      {STDOUT_FILENO, log.number()},
                                      {STDERR_FILENO, log.number()},
                                      {kShimLock, lock.number()},
                                      {kShimAlive, writing.number()}},
                            .lifetime = base::ChildLifetime::kOwn});
}

int run_shim(const JobFolder& folder) {
  const sigset_t signals = awaited_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  base::fault::kill_point("jobs.shim_begins");
  const auto attempt = read_attempt(folder);
  if (!attempt) return static_cast<int>(base::ExitCode::kBug);
  ExitRecord record{.attempt = attempt->attempt};
  train(folder, *attempt, signals, record);
  base::fault::kill_point("jobs.shim_saw_end");
  while (!write_if_room(folder.exit(), base::to_json(record))) ::nanosleep(&kWriteAgain, nullptr);
  return 0;
}

}  // namespace esper::jobs
