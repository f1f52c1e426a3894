#pragma once
// A daemon in a process of its own whose trainings are a small script: what becomes of jobs needs no engine, and takes
// milliseconds.

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "http/message.h"
#include "integration/run/run_room.h"
#include "jobs/daemon/daemon.h"
#include "jobs/process/job_files.h"
#include "support/comes_true.h"

namespace esper::test {

// What a job of the script does.
struct StubJob {
  std::string name{};            // of its run folder, which tells how often it began and ended
  double seconds = 0;            // that it takes
  int exit_code = 0;             // that it ends with
  bool ignores_signals = false;  // that ask it to save and stop
};

class StubDaemon {
 public:
  StubDaemon();
  // Kills the daemon and all processes of its jobs.
  ~StubDaemon();
  StubDaemon(const StubDaemon&) = delete;
  StubDaemon& operator=(const StubDaemon&) = delete;

  RunRoom room;
  jobs::DaemonOptions options;  // for the next start()
  std::string faults;           // as in ESPER_FAULTS, for the next start()

  // Until it answers, or has ended already.
  void start();
  // Its process; 0: it has ended.
  pid_t process();
  void kill();
  // SIGTERM; its exit status.
  int stop();
  // Its exit status, once it has ended by itself.
  int wait_for_end();

  // Nothing: no daemon answers.
  std::optional<http::Response> ask(const std::string& method, const std::string& target,
                                    const nlohmann::json& body = nullptr) const;
  // What `POST /v1/jobs` takes: one thread, the run folder of its name.
  nlohmann::json submission(const StubJob& job) const;
  // The id of a job that was accepted.
  int submit(const StubJob& job, const nlohmann::json& more = nlohmann::json::object()) const;
  nlohmann::json job(int id) const;
  bool wait_for_state(int id, const std::string& state) const;
  void wait_for_begin(const StubJob& job) const;
  // How often the script began, and came to its end by itself.
  int begins(const StubJob& job) const { return lines_of(job, "begins"); }
  int ends(const StubJob& job) const { return lines_of(job, "ends"); }
  jobs::JobFolder folder_of(int id) const;

 private:
  std::string run_dir_of(const StubJob& job) const;
  int lines_of(const StubJob& job, const std::string& file) const;
  void be_daemon();

  pid_t process_ = 0;
  int status_ = 0;
};

}  // namespace esper::test
