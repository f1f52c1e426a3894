// Which job begins where memory, disk space and GPUs are short, and what a waiting one is told.
#include <sys/mount.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "daemon_room.h"
#include "run_record.h"

namespace esper::test::placement_test {

using namespace esper::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

const Words kEndless = sets({"epochs=100000", "device.threads=1"});
const Words kShort = sets({"epochs=1", "device.threads=1"});

// A daemon with two threads and a configuration file, which looks again every 200 ms.
struct Machine {
  DaemonRoom daemon;
  std::string config = daemon.room.write("growing.yaml", growing_config());
  int number = 0;

  explicit Machine(const std::string& settings) : daemon({"--threads", "2"}) {
    std::filesystem::create_directories(daemon.state_dir());
    std::ofstream(daemon.state_dir() + "/daemon.yaml") << "look_again: 200ms\n" << settings;
    daemon.start();
  }
  Words submission(const Words& words, const std::filesystem::path& runs) {
    return Words{"submit", config, "--run-dir", (runs / ("placed" + std::to_string(++number))).string()} + words;
  }
  int submit(const Words& words) { return daemon.tell(submission(words, daemon.room.path / "runs"))["id"].get<int>(); }
  std::string reason_of(int job) const { return daemon.job(job)["reason"].get<std::string>(); }
};

// A file system of its own in memory; not there where this process may not mount one.
struct SmallDisk {
  std::filesystem::path path;
  bool is_there;
  explicit SmallDisk(const std::filesystem::path& folder) : path(folder) {
    std::filesystem::create_directories(path);
    is_there = ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=64m") == 0;
  }
  ~SmallDisk() {
    if (is_there) ::umount2(path.c_str(), MNT_DETACH);
  }
};

}  // namespace

TEST_CASE("a job waits for memory that another one was given, says how much, and begins when that has ended") {
  Machine machine("memory: 1GiB\n");
  const int first = machine.submit(kEndless + Words{"--memory", "700MiB"});
  REQUIRE(machine.daemon.wait_for_state(first, "running"));
  const int second = machine.submit(kShort + Words{"--memory", "500MiB"});
  CHECK(machine.reason_of(second) == "waits for memory: --memory declares 500 MiB, 324 MiB are free");
  machine.daemon.tell({"job", "cancel", std::to_string(first)});
  REQUIRE(machine.daemon.wait_for_state(second, "succeeded"));
  CHECK(machine.daemon.job(second)["peak_bytes"] > 50 << 20);
}

TEST_CASE("a job is forecast, and refused where it can never fit") {
  Machine machine("memory: 1GiB\n");
  const Words eager = sets({"step.lane=eager"});
  const int job = machine.submit(kShort + eager + Words{"--hold"});
  const auto forecast = machine.daemon.job(job)["forecast"];
  CHECK(forecast["parameters"] > 0);
  CHECK(forecast["memory"]["bytes"] > 100 << 20);
  CHECK_THAT(forecast["memory"]["parts"].get<std::string>(), ContainsSubstring("process"));
  machine.config = machine.daemon.room.write("plain.yaml", "name: plain\n");
  const auto words = machine.submission(sets({"host.kind=mlp", "host.hidden=[8192,8192]"}), machine.daemon.room.path);
  const auto refused = machine.daemon.ask(words);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err + refused.out,
             ContainsSubstring("can never start") && ContainsSubstring("1.0 GiB are available to jobs"));
  const auto declared = machine.daemon.ask(words + Words{"--memory", "900MiB", "--hold"});
  CAPTURE(declared.out);
  CHECK(declared.exit_code == 0);
}

TEST_CASE("where there are no GPUs a job that needs one is refused, and others see none") {
  Machine machine("gpus: []\n");
  const auto refused = machine.daemon.ask(machine.submission(sets({"device.kind=cuda"}), machine.daemon.room.path));
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err + refused.out,
             ContainsSubstring("GPUs: it needs 1, and 0 are available to jobs on this machine"));
  const int job = machine.submit(kShort);
  REQUIRE(machine.daemon.wait_for_state(job, "succeeded"));
  std::ifstream attempt(machine.daemon.state_dir() + "/jobs/000001/attempt.json");
  const std::string text{std::istreambuf_iterator<char>(attempt), {}};
  CHECK_THAT(text, ContainsSubstring(R"("CUDA_VISIBLE_DEVICES=")"));
}

TEST_CASE("a job waits for space on the file system of its run folder, and begins when others have made room") {
  Machine machine("keep_disk: 60MiB\n");
  const SmallDisk disk(machine.daemon.room.path / "disk");
  if (!disk.is_there) SKIP("this process may not mount a file system");
  {
    std::ofstream(disk.path / "full") << std::string(4 << 20, 'x');
  }
  const Words small = kShort + sets({"checkpoint.keep_last=1", "step.lane=eager"});
  const auto job = machine.daemon.tell(machine.submission(small, disk.path))["id"].get<int>();
  CHECK_THAT(machine.reason_of(job), ContainsSubstring("waits for disk space: the run folder is forecast to take"));
  CHECK(machine.daemon.job(job)["state"] == "queued");
  std::filesystem::remove(disk.path / "full");
  CHECK(machine.daemon.wait_for_state(job, "succeeded"));
}

namespace {

// What the run itself counted, as its telemetry has it after the first epoch.
std::int64_t counted_parameters(const std::filesystem::path& run) {
  std::ifstream file(run / "telemetry.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto packet = nlohmann::json::parse(line);
    for (const auto& metric : packet.value("metrics", nlohmann::json::array()))
      if (metric["name"] == "tolaria.training.params") return static_cast<std::int64_t>(metric["value"].get<double>());
  }
  return 0;
}

}  // namespace

TEST_CASE("the forecast counts the parameters of each built-in host as the run does") {
  Machine machine("");
  const auto text = machine.daemon.room.write("text.txt", "to be, or not to be: that is the question\n");
  std::string longer;
  for (int i = 0; i < 40; ++i) longer += "whether 'tis nobler in the mind to suffer; ";
  std::ofstream(text, std::ios::app) << longer;
  const Words few = sets({"epochs=1", "device.threads=1", "step.lane=eager", "growth.enabled=false", "policy.kind=none",
                          "checkpoint.keep_best=false"});
  const std::vector<Words> hosts{
      sets({"host.kind=linear"}), sets({"host.kind=mlp", "host.hidden=[48,24]", "host.modules=[r0c1=mlp]"}),
      sets({"host.kind=cnn", "data.shape=[1,8,8]", "host.blocks=2", "host.pool_layers=1", "host.residual_blocks=1"}),
      sets({"host.kind=transformer", "data.kind=text", "data.path=" + text, "data.context=16", "host.layers=2",
            "host.embedding=16", "host.heads=2", "host.segments=2"})};
  machine.config = machine.daemon.room.write("plain.yaml", "name: plain\n");
  for (const Words& host : hosts) {
    CAPTURE(host);
    const int job = machine.submit(few + host);
    REQUIRE(machine.daemon.wait_for_state(job, "succeeded"));
    const auto told = machine.daemon.job(job);
    const std::filesystem::path run = told["run_dir"].get<std::string>();
    CHECK(counted_parameters(run) > 0);
    CHECK(told["forecast"]["parameters"] == counted_parameters(run));
#ifndef __SANITIZE_ADDRESS__  // it takes memory of its own
    CHECK(told["forecast"]["memory"]["bytes"] >= told["peak_bytes"]);
#endif
  }
}

}  // namespace esper::test::placement_test
