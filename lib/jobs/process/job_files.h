#pragma once
// What lies in a job's folder: the records that the daemon and the job's own processes write for each other. Any
// thread.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/expected.h"
#include "base/text/json_struct.h"
#include "jobs/job/job.h"

namespace esper::jobs {

struct JobFolder {
  std::string path;

  std::string run_file() const { return path + "/run.yaml"; }
  std::string attempt() const { return path + "/attempt.json"; }
  std::string process() const { return path + "/process.json"; }
  std::string exit() const { return path + "/exit.json"; }
  std::string output() const { return path + "/output.log"; }
  // Locked as long as a process of the job lives.
  std::string lock() const { return path + "/lock"; }
  // A FIFO that each process of the job holds open for writing: it reads as ended when the last one has ended.
  std::string alive() const { return path + "/alive"; }
};

// What the shim is to start.
struct AttemptRecord {
  std::int64_t attempt = 0;
  std::vector<std::string> command{};
  std::vector<std::string> environment{};  // all of it
  std::string folder{};                    // to start in
};
constexpr auto json_members(const AttemptRecord*) {
  using base::json_member;
  using A = AttemptRecord;
  return std::tuple{json_member("attempt", &A::attempt), json_member("command", &A::command),
                    json_member("environment", &A::environment), json_member("folder", &A::folder)};
}

// A process id alone may be another process's by now; with its start (clock ticks since boot) and the boot it is not.
struct ProcessIdentity {
  std::int64_t pid = 0, started = 0;
  std::string boot{};
  bool operator==(const ProcessIdentity&) const = default;
};
constexpr auto json_members(const ProcessIdentity*) {
  using base::json_member;
  using P = ProcessIdentity;
  return std::tuple{json_member("pid", &P::pid), json_member("started", &P::started), json_member("boot", &P::boot)};
}

struct ProcessRecord {
  std::int64_t attempt = 0;
  ProcessIdentity shim{}, trainer{};
};
constexpr auto json_members(const ProcessRecord*) {
  using base::json_member;
  using P = ProcessRecord;
  return std::tuple{json_member("attempt", &P::attempt), json_member("shim", &P::shim),
                    json_member("trainer", &P::trainer)};
}

// How the trainer ended.
struct ExitRecord {
  std::int64_t attempt = 0;
  std::optional<int> exit_code{};
  int signal = 0;
  std::string problem{};        // it could not be started: why
  int error = 0;                // errno of that; 0: none
  std::int64_t peak_bytes = 0;  // of resident memory
};
constexpr auto json_members(const ExitRecord*) {
  using base::json_member;
  using E = ExitRecord;
  return std::tuple{json_member("attempt", &E::attempt), json_member("exit_code", &E::exit_code),
                    json_member("signal", &E::signal),   json_member("problem", &E::problem),
                    json_member("error", &E::error),     json_member("peak_bytes", &E::peak_bytes)};
}

// Nothing where there is none of this attempt, or none that can be read. Fields that are not known, as a shim of
// another version writes them, are left out.
std::optional<AttemptRecord> read_attempt(const JobFolder& folder);
std::optional<ProcessRecord> read_process(const JobFolder& folder, std::int64_t attempt);
std::optional<ExitRecord> read_exit(const JobFolder& folder, std::int64_t attempt);
// Durable when it returns. Throws base::IoError.
void write_record(const std::string& path, const nlohmann::json& record);
// Removes process.json and exit.json, where they are there: those of an earlier attempt, or of a job of an earlier
// database that had the same number. Durable when it returns. Throws base::IoError.
void remove_records(const JobFolder& folder);

// Of a process that lives; nothing: it does not.
std::optional<ProcessIdentity> identity_of(pid_t pid);
// Sends a signal to the process, or to the group that it leads; false: it does not live.
enum class SignalTarget { kProcess, kGroup };
bool send_signal(const ProcessIdentity& process, int signal, SignalTarget target);

// The lock of the job's processes; not open: one of them lives. Throws base::IoError.
base::Descriptor try_lock(const JobFolder& folder);

// The highest number of a job that has a folder in the one of all jobs; 0: none has. Throws base::IoError.
JobId highest_job_in(const std::string& folder);

// The job's FIFO, which is made where there is none. `flags`: of open(2); O_RDONLY | O_NONBLOCK to learn when the last
// process has closed it. Throws base::IoError.
base::Descriptor open_alive(const JobFolder& folder, int flags);

}  // namespace esper::jobs
