#pragma once
// What a daemon may be given: the fields of its configuration file (docs/daemon.md), and reading that file with every
// problem at once. Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/quantity.h"
#include "base/text/problem.h"
#include "config/field.h"
#include "jobs/job/attempt_end.h"

namespace esper::jobs {

// Listening on loopback TCP, beside the socket in the state folder.
struct DaemonHttpConfig {
  int port = 0;
  std::string token_file;  // once read: with the configuration file's folder

  template <class = void>
  static constexpr auto fields() {
    using C = DaemonHttpConfig;
    return std::tuple{config::field("port", &C::port, "TCP port on 127.0.0.1; 0: no TCP", config::between(0, 65535)),
                      config::field("token_file", &C::token_file,
                                    "file with the token that clients must send, relative to this file; made if "
                                    "missing; default: token in the state folder")};
  }
};

// Which GPUs jobs may get.
enum class GpuChoice { kAll, kListed };

struct DaemonConfig {
  std::int64_t threads = 0;
  std::string memory = "0";
  std::string keep_memory = "0", keep_disk = "512MiB";
  base::Duration look_again = std::chrono::seconds(30);
  std::vector<std::int64_t> gpus;
  GpuChoice gpu_choice = GpuChoice::kAll;  // kListed once the file has `gpus`
  base::Duration stop_grace = std::chrono::seconds(60);
  base::Duration restart_delay = RestartRules{}.first_delay;
  std::int64_t most_interruptions = RestartRules{}.most_interruptions;
  DaemonHttpConfig http;
  std::string log_max_size = "10MiB";
  bool telemetry = true;

  template <class = void>
  static constexpr auto fields() {
    using C = DaemonConfig;
    using config::field;
    return std::tuple{
        field("threads", &C::threads, "threads for all jobs together; 0: the machine's cores",
              config::between(0, 4096)),
        field("memory", &C::memory, "memory for all jobs together, like 64GiB; 0: the machine's"),
        field("keep_memory", &C::keep_memory,
              "free memory that is left when a job starts, like 2GiB; 0: a sixteenth of the machine's"),
        field("keep_disk", &C::keep_disk, "free space of a file system that is left when a job starts"),
        field("look_again", &C::look_again,
              "how often the daemon looks again while a job waits for memory, disk space or GPU memory that is used by "
              "others than its jobs"),
        field("gpus", &C::gpus, "numbers of the GPUs that jobs may get; default: all GPUs", config::between(0, 1023)),
        field("stop_grace", &C::stop_grace, "time that a job has to save and stop before it is killed"),
        field("restart_delay", &C::restart_delay,
              "delay before an interrupted job is started again; doubles with each interruption in a row, up to 5m"),
        field("most_interruptions", &C::most_interruptions,
              "how many times in a row a job is started again for the same cause without a new checkpoint",
              config::between(0, 1'000'000)),
        field("http", &C::http, "listening on loopback TCP"),
        field("log_max_size", &C::log_max_size,
              "size of daemon.log and of a job's output.log at which a new file begins"),
        field("telemetry", &C::telemetry, "whether the daemon writes telemetry.jsonl in its state folder")};
  }
  void validate(config::Findings& out) const;

  // As validate() accepts them.
  std::int64_t memory_bytes() const;
  std::int64_t keep_memory_bytes() const;
  std::int64_t keep_disk_bytes() const;
  std::int64_t log_max_bytes() const;
};

struct LoadedDaemonConfig {
  DaemonConfig config;                  // to be used only where there are no problems
  std::vector<base::Problem> problems;  // by place
};

LoadedDaemonConfig read_daemon_config(const std::string& path);
// The same for a text. `file`: what places show; paths are relative to its folder.
LoadedDaemonConfig read_daemon_config_text(std::string_view text, const std::string& file);

// Throws base::ConfigError with all problems.
DaemonConfig load_daemon_config(const std::string& path);

// The configuration of a state folder whose daemon was given no other: its daemon.yaml, else the defaults. Throws as
// load_daemon_config().
DaemonConfig daemon_config_of(const std::string& state_dir);

}  // namespace esper::jobs
