#include "jobs/daemon/daemon_config.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>

#include "support/temporary_folder.h"

namespace esper::test::daemon_config_test {

using namespace esper;
using namespace esper::jobs;
using namespace std::chrono_literals;

namespace {

// Each as "LINE:COLUMN: PATH: TEXT".
std::vector<std::string> problems_of_daemon(const std::string& text) {
  const std::string file = "/etc/daemon.yaml";
  std::vector<std::string> shown;
  for (const auto& problem : read_daemon_config_text(text, file).problems) {
    const std::string line = to_string(problem);
    shown.push_back(line.starts_with(file + ":") ? line.substr(file.size() + 1) : line);
  }
  return shown;
}

}  // namespace

TEST_CASE("a daemon's configuration file may give every field") {
  const auto loaded = read_daemon_config_text(
      "threads: 6\n"
      "memory: 48GiB\n"
      "gpus: [0, 2]\n"
      "stop_grace: 90s\n"
      "restart_delay: 2s\n"
      "most_interruptions: 7\n"
      "http: {port: 8123, token_file: secrets/token}\n"
      "log_max_size: 1MiB\n"
      "telemetry: false\n",
      "/etc/esper/daemon.yaml");
  REQUIRE(loaded.problems.empty());
  const DaemonConfig& config = loaded.config;
  CHECK(config.threads == 6);
  CHECK(config.memory_bytes() == 48ll << 30);
  CHECK(config.gpu_choice == GpuChoice::kListed);
  CHECK(config.gpus == std::vector<std::int64_t>{0, 2});
  CHECK(config.stop_grace == 90s);
  CHECK(config.restart_delay == 2s);
  CHECK(config.most_interruptions == 7);
  CHECK(config.http.port == 8123);
  CHECK(config.http.token_file == "/etc/esper/secrets/token");
  CHECK(config.log_max_bytes() == 1 << 20);
  CHECK(!config.telemetry);
}

TEST_CASE("a daemon's configuration file may be empty, and no GPU is not the same as all") {
  const auto empty = read_daemon_config_text("# nothing yet\n", "daemon.yaml");
  CHECK(empty.problems.empty());
  CHECK(empty.config.gpu_choice == GpuChoice::kAll);
  CHECK(empty.config.memory_bytes() == 0);
  CHECK(empty.config.http.port == 0);
  CHECK(empty.config.telemetry);
  const auto none = read_daemon_config_text("gpus: []\n", "daemon.yaml");
  CHECK(none.problems.empty());
  CHECK(none.config.gpu_choice == GpuChoice::kListed);
}

TEST_CASE("all mistakes of a daemon's configuration file are reported at once, in its order") {
  const auto problems = problems_of_daemon(
      "thread: 6\n"
      "memory: 48GB\n"
      "gpus: [0, 0]\n"
      "stop_grace: 90\n"
      "most_interruptions: -1\n"
      "http: {port: 70000, tokenfile: x}\n"
      "log_max_size: 1KiB\n"
      "telemetry: on\n");
  const std::vector<std::string> starts{"1:1: thread: unknown key; did you mean threads? Known here: threads, memory,",
                                        "2:9: memory: needs a whole number and a unit",
                                        "3:7: gpus: has a number twice",
                                        "4:13: stop_grace: expected a duration",
                                        "5:21: most_interruptions: must be 0 to 1000000",
                                        "6:14: http.port: must be 0 to 65535",
                                        "6:21: http.tokenfile: unknown key; did you mean token_file?",
                                        "7:15: log_max_size: needs a whole number and a unit",
                                        "8:12: telemetry: expected true or false"};
  CAPTURE(problems);
  REQUIRE(problems.size() == starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    CAPTURE(problems[i], starts[i]);
    CHECK(problems[i].starts_with(starts[i]));
  }
}

TEST_CASE("a token file without a port would do nothing, which is a mistake") {
  const auto problems = problems_of_daemon("http:\n  token_file: t\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].starts_with("2:15: http.token_file: has no effect without http.port"));
}

TEST_CASE("text that is no configuration is refused with its place") {
  CHECK(problems_of_daemon("threads: [").size() == 1);
  const auto list = problems_of_daemon("- threads\n");
  REQUIRE(list.size() == 1);
  CHECK(list[0].find("known keys: threads, memory") != std::string::npos);
}

TEST_CASE("a state folder's daemon.yaml is read where it exists") {
  const test::TemporaryFolder folder;
  const std::string& state = folder.path();
  CHECK(daemon_config_of(state).threads == 0);
  std::ofstream(state + "/daemon.yaml") << "threads: 3\n";
  CHECK(daemon_config_of(state).threads == 3);
  std::ofstream(state + "/daemon.yaml") << "threads: x\n";
  CHECK_THROWS_AS(daemon_config_of(state), base::ConfigError);
}

}  // namespace esper::test::daemon_config_test
