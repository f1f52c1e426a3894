#include "jobs/queue/attempts.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "base/signal_point.h"
#include "base/text/child_process.h"
#include "base/text/joined.h"
#include "history/growth/checkpoint_list.h"
#include "jobs/job/run_folder.h"
#include "jobs/process/log_files.h"
#include "jobs/process/shim.h"
#include "nissa/log.h"
#include "runs/reached_epoch.h"
#include "storage/atomic_publish.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

extern char** environ;

namespace esper::jobs {
namespace {

constexpr auto kStopAgain = std::chrono::milliseconds(50);  // processes that are just being started
constexpr auto kKillAgain = std::chrono::seconds(10);
constexpr auto kLookAgain = std::chrono::milliseconds(20);  // at a lock whose holder is about to end

// The job sees the GPUs that it has, by their UUIDs: indexes depend on the order in which they are counted. Without any
// it sees none, so that device: auto does not take one that nobody gave to it.
std::vector<std::string> environment_with(const std::vector<std::string>& gpus) {
  constexpr std::array kNotHandedOn{"CUDA_VISIBLE_DEVICES=", "CUDA_DEVICE_ORDER=", "NOTIFY_SOCKET="};
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (std::ranges::none_of(kNotHandedOn, [&](const char* name) { return text.starts_with(name); }))
      environment.emplace_back(text);
  }
  environment.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");
  environment.push_back("CUDA_VISIBLE_DEVICES=" + base::joined(gpus, ","));
  return environment;
}

// The epochs of its rung; fewer than its user has trained the run to are refused.
std::int64_t epochs_to_train(const Job& job) {
  storage::ConfinedFileSystem files(job.run_dir, storage::Owner::kAnyone);
  try {
    return std::max(job.epochs, runs::reached_epoch(files, job.run_dir));
  } catch (const base::IoError&) {  // which the job says
    return job.epochs;
  }
}

std::vector<std::string> command_of(const std::string& program, const Job& job, const JobFolder& folder) {
  if (has_run_folder(job.run_dir)) {
    std::vector<std::string> command{program, "train", "--resume", job.run_dir, "--trust-program"};
    if (job.epochs > 0) command.insert(command.end(), {"--set", fmt::format("epochs={}", epochs_to_train(job))});
    return command;
  }
  return {program, "train", "--config", folder.run_file(), "--run-dir", job.run_dir};
}

// After its FIFO has ended: nothing of the job lives where the folder of the lock was deleted.
bool is_over(const JobFolder& folder) {
  try {
    return try_lock(folder).is_open();
  } catch (const base::IoError& error) {
    return error.error_number() == ENOENT;
  }
}

std::string newest_checkpoint(const std::string& run_dir) {
  try {
    const auto checkpoints = history::list_checkpoints(storage::real_file_system(), run_dir + "/checkpoints");
    return checkpoints.empty() ? "" : checkpoints.back().name();
  } catch (const base::IoError&) {
    return "";
  }
}

}  // namespace

std::string wrong_run(const Job& job) {
  const bool is_there = has_run_folder(job.run_dir);
  if (job.attempts == 0 && is_there)
    return fmt::format("its run folder {} has a run that is not this job's: submit it with another --run-dir",
                       job.run_dir);
  if (job.checkpoint.empty() || is_there) return "";
  return fmt::format("its run folder {} is gone, with its checkpoints; esper job retry {} starts a new one",
                     job.run_dir, job.id);
}

struct Attempts::Watch {
  Watch(boost::asio::io_context& loop, Job watched, base::Descriptor descriptor)
      : job(std::move(watched)), alive(loop, descriptor.release()), next_look(loop), next_stop(loop) {}
  Job job;
  std::optional<ProcessIdentity> shim;  // where it is known yet
  boost::asio::posix::stream_descriptor alive;
  boost::asio::steady_timer next_look, next_stop;
  bool is_stopping = false;
};

Attempts::Attempts(boost::asio::io_context& loop, Setup setup, Ended ended)
    : loop_(loop), setup_(std::move(setup)), ended_(std::move(ended)) {}
Attempts::~Attempts() = default;

JobFolder Attempts::folder_of(JobId job) const { return {fmt::format("{}/{:06}", setup_.folder, job)}; }

void Attempts::start(const Job& job, const std::string& run_file, const std::vector<std::string>& gpus) {
  const JobFolder folder = folder_of(job.id);
  auto& files = storage::real_file_system();
  storage::ensure_folder(files, folder.path);
  storage::publish_file(files, folder.run_file(), storage::bytes_of(run_file));
  const AttemptRecord attempt{.attempt = job.attempts,
                              .command = command_of(setup_.program, job, folder),
                              .environment = environment_with(gpus),
                              .folder = job.folder};
  write_record(folder.attempt(), base::to_json(attempt));
  auto lock = try_lock(folder);
  if (!lock.is_open()) throw base::IoError("lock", folder.lock(), EWOULDBLOCK);
  // Under the lock: no process of the job is there to write to it.
  if (const auto rotated = rotate_log(folder.output(), setup_.log_max_bytes); !rotated)
    nissa::log::warning(rotated.error());
  auto alive = open_alive(folder, O_RDONLY | O_NONBLOCK);
  auto watch = std::make_unique<Watch>(loop_, job, std::move(alive));
  base::fault::kill_point("jobs.before_start");
  const pid_t shim = start_shim(folder, setup_.program, std::move(lock));
  base::fault::kill_point("jobs.after_start");
  watch->shim = identity_of(shim);
  await(std::move(watch));
}

std::optional<AttemptEnd> Attempts::adopt(const Job& job) {
  const JobFolder folder = folder_of(job.id);
  storage::ensure_folder(storage::real_file_system(), folder.path);
  auto alive = open_alive(folder, O_RDONLY | O_NONBLOCK);
  // After the FIFO was opened: it does not report those that ended before.
  auto watch = std::make_unique<Watch>(loop_, job, std::move(alive));
  if (try_lock(folder).is_open()) return end_of(*watch);
  await(std::move(watch));
  return std::nullopt;
}

void Attempts::await(std::unique_ptr<Watch> made) {
  const JobId job = made->job.id;
  Watch& watch = *made;
  watches_[job] = std::move(made);
  watch.alive.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this, job, attempt = watch.job.attempts](const boost::system::error_code& error) {
                           if (error == boost::asio::error::operation_aborted) return;
                           if (find(job, attempt) != nullptr) look_at(job);
                         });
}

// A handler that was due when its attempt ended still runs, and may find the next attempt of the job.
Attempts::Watch* Attempts::find(JobId job, std::int64_t attempt) const {
  const auto found = watches_.find(job);
  return found != watches_.end() && found->second->job.attempts == attempt ? found->second.get() : nullptr;
}

// All processes have closed the FIFO. The lock goes with the last of them, in the same moment or the next.
void Attempts::look_at(JobId job) {
  const auto found = watches_.find(job);
  if (found == watches_.end()) return;
  if (is_over(folder_of(job))) {
    const auto watch = std::move(found->second);
    watches_.erase(found);
    ended_(job, end_of(*watch));
    return;
  }
  Watch& watch = *found->second;
  watch.next_look.expires_after(kLookAgain);
  watch.next_look.async_wait([this, job, attempt = watch.job.attempts](const boost::system::error_code& error) {
    if (!error && find(job, attempt) != nullptr) look_at(job);
  });
}

void Attempts::stop(JobId job) {
  const auto found = watches_.find(job);
  if (found == watches_.end()) return;
  Watch& watch = *found->second;
  if (std::exchange(watch.is_stopping, true)) return;
  watch.is_stopping = request_stop(watch);
  await_stop(watch, watch.is_stopping ? setup_.stop_grace : base::Duration(kStopAgain));
}

void Attempts::await_stop(Watch& watch, base::Duration time) {
  watch.next_stop.expires_after(time);
  watch.next_stop.async_wait(
      [this, job = watch.job.id, attempt = watch.job.attempts](const boost::system::error_code& error) {
        Watch* left = error ? nullptr : find(job, attempt);
        if (left == nullptr) return;
        if (!left->is_stopping) return stop(job);
        kill(job);
        await_stop(*left, kKillAgain);
      });
}

// False: which process its shim is cannot be known yet. The shim signals the trainer; where the shim has ended, the
// kernel has signalled it.
bool Attempts::request_stop(Watch& watch) const {
  if (!watch.shim) {
    const auto processes = read_process(folder_of(watch.job.id), watch.job.attempts);
    if (!processes) return false;
    watch.shim = processes->shim;
  }
  send_signal(*watch.shim, SIGTERM, SignalTarget::kProcess);
  return true;
}

void Attempts::kill(JobId job) {
  const Watch& watch = *watches_.at(job);
  if (const auto processes = read_process(folder_of(job), watch.job.attempts)) {
    send_signal(processes->trainer, SIGKILL, SignalTarget::kGroup);
  } else if (watch.shim) {  // which could not write them: the disk is full
    send_signal(*watch.shim, kShimKill, SignalTarget::kProcess);
  }
}

AttemptEnd Attempts::end_of(const Watch& watch) const {
  AttemptEnd end{.checkpoint = newest_checkpoint(watch.job.run_dir)};
  const auto record = read_exit(folder_of(watch.job.id), watch.job.attempts);
  const bool is_done = record && record->exit_code == static_cast<int>(base::ExitCode::kDone);
  try {
    if (!is_done) end.problem = wrong_run(watch.job);
  } catch (const base::IoError&) {  // the folder cannot be looked at now: the next attempt says so
  }
  if (!record || !end.problem.empty()) return end;
  end.exit_code = record->exit_code;
  end.signal = record->signal;
  end.problem = record->problem;
  end.never_began = may_pass(record->error);
  end.may_stay = may_stay(record->error);
  end.peak_bytes = record->peak_bytes;
  return end;
}

}  // namespace esper::jobs
