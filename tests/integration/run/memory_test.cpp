// Memory: small files that unfold to more than the process may have (exit 6 with the file and the sizes, never a kill),
// what replay takes beside eager, and what steps cost the kernel.
#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "run_record.h"
#include "run_room.h"
#include "support/faults/bombs.h"

namespace esper::test::memory_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr int kMebibytes = 1200;  // what a file unfolds to, at least

std::string npy_header(const std::string& type, const std::string& shape) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header;
}

// Bytes as samples of one number: each takes 4 bytes, and its class 16.
std::string npz() {
  const Bomb zeros(std::string(1024, '\0'));
  const auto count = std::to_string(kMebibytes / 10 * zeros.piece_size());
  return zip_of({zeros.member("x.npy", npy_header("|i1", "(" + count + ", 1)"), kMebibytes / 10),
                 zeros.member("y.npy", npy_header("|u1", "(" + count + ",)"), kMebibytes / 10)});
}

struct Case {
  const char *kind, *host, *file;
};
constexpr Case kCases[] = {{"csv", "mlp", "samples.csv.gz"},
                           {"csv", "mlp", "lines.csv.gz"},
                           {"text", "transformer", "words.txt.gz"},
                           {"npy", "mlp", "arrays.npz"}};

void write_cases(const RunRoom& room) {
  room.write("samples.csv.gz", Bomb("0,0\n").gzip(kMebibytes / 4));  // 4 bytes become a number and two classes
  room.write("lines.csv.gz", Bomb("0,0\n").gzip(kMebibytes));
  room.write("words.txt.gz", Bomb("to be or not to be\n").gzip(kMebibytes / 4));  // each byte becomes 12
  room.write("arrays.npz", npz());
}

// `wrap` makes a command run under a limit.
template <class Wrap>
void check_refused(const RunRoom& room, Wrap wrap, const std::string& limit) {
  write_cases(room);
  const auto config = room.write("small.yaml",
                                 "epochs: 1\ndevice: {kind: cpu, threads: 1}\ntelemetry: {console: none}\n"
                                 "step: {lane: eager}\nhost: {hidden: [8], embedding: 8, layers: 2}\n");
  const auto run = [&](const Words& assignments) {
    return run_program(wrap(train_command(config, room.run("run"), assignments)));
  };
  for (const auto& c : kCases) {
    CAPTURE(c.file);
    const auto path = (room.path / c.file).string();
    CHECK(fs::file_size(path) < 3'000'000);
    const auto finished =
        run({std::string("data.kind=") + c.kind, "data.path=" + path, std::string("host.kind=") + c.host});
    INFO(finished.out << finished.err);
    CHECK(finished.exit_code == 6);
    const nlohmann::json printed = nlohmann::json::parse(finished.out, nullptr, false);
    const std::string text = printed["error"]["text"];
    CHECK_THAT(text, ContainsSubstring(path) && ContainsSubstring("would take") && ContainsSubstring(limit) &&
                         ContainsSubstring("use a smaller file"));
    CHECK_FALSE(fs::exists(room.run("run")));
  }
  const auto sound = run({});  // the limit leaves room enough for a data set that is none
  INFO(sound.out << sound.err);
  CHECK(sound.exit_code == 0);
}

// A cgroup below this process's own, removed at the end; an empty path where none can be made.
struct Cgroup {
  fs::path folder;
  explicit Cgroup(const std::string& limit) {
    for (const auto& [root, file] :
         {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, std::pair{"/sys/fs/cgroup", "memory.max"}}) {
      const fs::path made = fs::path(root) / ("esper_test_" + std::to_string(getpid()));
      std::error_code error;
      if (!fs::create_directory(made, error)) continue;
      folder = made;
      std::ofstream out(made / file);
      out << limit << std::flush;
      if (out) return;
      fs::remove(made, error);
      folder.clear();
    }
  }
  ~Cgroup() {
    std::error_code ignored;
    if (!folder.empty()) fs::remove(folder, ignored);
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
};

Words in_shell(const std::string& limit, const Words& command) {
  return Words{"/bin/sh", "-c", limit + " && exec \"$@\"", "sh"} + command;
}

}  // namespace

#ifndef __SANITIZE_ADDRESS__  // it takes address space of its own
TEST_CASE("files that unfold to more than the address space may grow to are refused") {
  const RunRoom room;
  check_refused(
      room, [](const Words& command) { return in_shell("ulimit -v 2500000", command); }, "RLIMIT_AS (ulimit -v), 2441");
}
#endif

#ifndef __SANITIZE_ADDRESS__  // it takes address space of its own
TEST_CASE("a run that may need more memory than there is says so at its start, with the figures") {
  const RunRoom room;
  const auto config = room.write("wide.yaml",
                                 "epochs: 1\ndevice: {kind: cpu, threads: 1}\nstep: {lane: eager}\n"
                                 "data: {kind: digits, shape: [64], max_samples: 64}\n"
                                 "host: {kind: mlp, hidden: [8192, 8192]}\n"
                                 "growth: {enabled: false}\npolicy: {kind: none}\n");
  const auto finished = run_program(in_shell("ulimit -v 2500000", train_command(config, room.run("run"))));
  INFO(finished.out << finished.err);
  CHECK((finished.exit_code == 0 || finished.exit_code == 6));
  const auto forecast = events_of(room.run("run"), "tolaria.shortage_forecast");
  REQUIRE(forecast.size() == 1);
  CHECK(forecast[0]["level"] == "WARNING");
  CHECK(forecast[0]["attributes"]["resource"] == "memory");
  CHECK_THAT(forecast[0]["attributes"]["needed"].get<std::string>(), ContainsSubstring("GiB"));
  CHECK_THAT(forecast[0]["attributes"]["reason"].get<std::string>(), ContainsSubstring("RLIMIT_AS (ulimit -v), 2441"));
}
#endif

TEST_CASE("files that unfold to more than the cgroup's memory are refused, not killed") {
  const RunRoom room;
  const Cgroup cgroup("1000000000");
  if (cgroup.folder.empty()) SKIP("no cgroup with a memory limit can be made here");
  const auto join = "echo $$ > " + (cgroup.folder / "cgroup.procs").string();
  check_refused(room, [&](const Words& command) { return in_shell(join, command); }, "of cgroup ");
}

#ifndef __SANITIZE_ADDRESS__  // it takes memory of its own
namespace {

// Of resident memory, in kB, as read every few milliseconds.
long peak_of(const Words& command) {
  RunningProgram program(command);
  const fs::path status = "/proc/" + std::to_string(program.process()) + "/status";
  long peak = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(4);
  while (!program.has_ended() && std::chrono::steady_clock::now() < until) {
    std::ifstream file(status);
    for (std::string word; file >> word;) {
      if (word == "VmHWM:") file >> peak;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const Finished finished = program.wait();
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  return peak;
}

}  // namespace

TEST_CASE("the peak of a run whose steps are replayed is at most 1.3 times that of eager's steps") {
  const RunRoom room;
  // A state of 100 MB, and several comparisons of replay's step with eager's. No checkpoint is written meanwhile: its
  // copy of the state would be there or not as it happens.
  const auto config = room.write("wide.yaml",
                                 "epochs: 2\ndevice: {kind: cpu, threads: 1}\ntelemetry: {console: none}\n"
                                 "data: {kind: digits, shape: [64], max_samples: 240, batch_size: 32}\n"
                                 "host: {kind: mlp, hidden: [2048, 2048, 2048]}\npolicy: {kind: none}\n"
                                 "training: {optimizer: {kind: adamw}}\nstep: {check_every: 5}\n"
                                 "checkpoint: {every: 0}\n");
  const auto peak = [&](const std::string& lane) {
    return static_cast<double>(peak_of(train_command(config, room.run(lane), {"step.lane=" + lane})));
  };
  const double eager = peak("eager"), replay = peak("replay");
  CAPTURE(eager, replay);
  CHECK_FALSE(events_of(room.run("replay"), "tolaria.lane_adopted").empty());
  CHECK(eager > 300'000);
  CHECK(replay <= 1.3 * eager);
}

namespace {

long page_faults_of(const Words& command) {
  const auto so_far = [] {
    rusage usage{};
    getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_minflt;
  };
  const long before = so_far();
  const Finished finished = run_program(command);
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  return so_far() - before;
}

}  // namespace

TEST_CASE("memory that a step frees is there for the next step, without page faults") {
  const RunRoom room;
  const auto config = room.write("cnn.yaml",
                                 "device: {kind: cpu, threads: 1}\ntelemetry: {console: none}\nstep: {lane: eager}\n"
                                 "data: {kind: synthetic, shape: [1, 28, 28], batch_size: 64, standardize: false, "
                                 "synthetic: {samples: 640, features: 784}}\n"
                                 "host: {kind: cnn, blocks: 2, base_channels: 16, pool_layers: 2}\n"
                                 "policy: {kind: none}\ngrowth: {enabled: false}\ncheckpoint: {every: 0}\n");
  const auto faults = [&](const std::string& epochs) {
    return page_faults_of(train_command(config, room.run("e" + epochs), {"epochs=" + epochs}));
  };
  constexpr int kSteps = 40;  // eight in each of the five epochs by which the second run is longer
  const long one = faults("1"), six = faults("6");
  CAPTURE(one, six);
  CHECK(six - one < 500 * kSteps);  // where malloc gives the memory back it is some 2,000 a step
}
#endif

}  // namespace esper::test::memory_test
