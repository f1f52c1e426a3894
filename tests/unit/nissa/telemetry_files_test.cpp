// Telemetry in several files: no packet is lost or doubled where a new one begins; the oldest go where a limit says so.
#include "nissa/telemetry_files.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"
#include "nissa/jsonl_sink.h"
#include "storage/beneath.h"
#include "support/child_end.h"
#include "support/faults/no_more_files.h"
#include "support/telemetry_file.h"
#include "support/temporary_folder.h"

namespace esper::test::telemetry_files_test {

using namespace esper;
using nissa::JsonlSink;
using nissa::TelemetryLimits;
using test::packet_named;
using test::read_telemetry;
using test::TemporaryFolder;
using Ids = test::PacketIds;
namespace fs = std::filesystem;

namespace {

JsonlSink sink_of(const fs::path& path, TelemetryLimits limits) {
  return JsonlSink(path, JsonlSink::Target::kRegularFile, JsonlSink::kWriteDeadline, limits);
}

Ids numbers(int count, int from = 0) {
  Ids ids;
  for (int i = from; i < count; ++i) ids.push_back(std::to_string(i));
  return ids;
}

// The soft limit, which can be raised again.
void set_most_file_bytes(rlim_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
  limit.rlim_cur = std::min(bytes, limit.rlim_max);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
}

// Where everyone deletes their own files alone, with an earlier file of root.
struct FolderOfAnother {
  TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl", first = folder / "telemetry-000001.jsonl";

  FolderOfAnother() {
    std::ofstream(first) << "{}\n";
    REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
  }
  // In a process of another user.
  template <class Act>
  void as_its_guest(const Act& act) const {
    constexpr uid_t kNobody = 65534;
    constexpr int kNotTried = 77;
    const auto end = test::end_of_child([&] {
      if (::setuid(kNobody) != 0 || ::access(folder.path().c_str(), W_OK) != 0) _exit(kNotTried);
      act();
    });
    if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == kNotTried)
      SKIP("the folder is out of another user's reach");
    REQUIRE(end.status == 0);
  }
  std::size_t count_events(const std::string& name) const {
    std::size_t count = 0;
    history::read_jsonl(path, [&](const nlohmann::json& packet) {
      for (const auto& event : packet.value("events", nlohmann::json::array())) count += event["description"] == name;
    });
    return count;
  }
};

}  // namespace

TEST_CASE("a full file becomes an earlier one, and readers get all packets in order") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  {
    auto sink = sink_of(path, {400, 0});
    for (int i = 0; i < 10; ++i) sink.emit(packet_named(std::to_string(i)));
  }
  auto resumed = sink_of(path, {400, 0});
  for (int i = 10; i < 20; ++i) resumed.emit(packet_named(std::to_string(i)));
  const auto earlier = nissa::earlier_telemetry(path);
  REQUIRE(earlier.size() >= 4);
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    CHECK(earlier[i].number == i + 1);
    CHECK(earlier[i].bytes <= 400);
  }
  CHECK(earlier[0].path.filename() == "telemetry-000001.jsonl");
  CHECK(read_telemetry(path).ids == numbers(20));
  CHECK(read_telemetry(earlier[0].path).ids.size() < 5);  // one file alone
}

TEST_CASE("a process killed between the steps of a rotation loses and doubles nothing") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  const TelemetryLimits limits{1, 0};
  {
    auto sink = sink_of(path, limits);
    sink.emit(packet_named("0"));
    sink.emit(packet_named("1"));
  }
  // Killed after the rename: there is no telemetry.jsonl.
  nissa::TelemetryDropped dropped;
  REQUIRE(nissa::rotate_telemetry(path, limits, dropped) == 0);
  CHECK_FALSE(fs::exists(path));
  CHECK(nissa::has_telemetry(path));
  CHECK(read_telemetry(path).ids == numbers(2));
  // Killed after the new file was made, before its first line.
  std::ofstream(path).flush();
  CHECK(read_telemetry(path).ids == numbers(2));
  // Killed within its first line.
  std::ofstream(path, std::ios::app) << R"({"packet_id":"torn)";
  auto sink = sink_of(path, limits);
  sink.emit(packet_named("2"));
  const auto after = read_telemetry(path);
  CHECK(after.ids == numbers(3));
  CHECK(after.report.damaged_total == 1);
  CHECK(after.report.missing_files == 0);
}

TEST_CASE("a link or a folder under an earlier file's name is neither skipped by readers nor replaced by the writer") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl", first = folder / "telemetry-000001.jsonl";
  const fs::path elsewhere = folder / "elsewhere";
  std::ofstream(elsewhere) << "precious";
  SECTION("a link") { fs::create_symlink(elsewhere, first); }
  SECTION("a folder") { fs::create_directory(first); }
  const std::uint64_t limit = GENERATE(0, 1);  // of all files; 0: none
  auto sink = sink_of(path, {1, limit});
  sink.emit(packet_named("0"));
  sink.emit(packet_named("1"));
  CHECK_FALSE(fs::is_regular_file(fs::symlink_status(first)));
  CHECK(fs::is_regular_file(fs::symlink_status(folder / "telemetry-000002.jsonl")));
  CHECK_THROWS_AS(read_telemetry(path), storage::UnsafePath);
  CHECK(fs::file_size(elsewhere) == 8);
}

TEST_CASE("the oldest files are deleted beyond the limit, which is reported, and readers know of it") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  {
    auto sink = sink_of(path, {1000, 3000});
    for (int i = 0; i < 60; ++i) sink.emit(packet_named(std::to_string(i)));
  }
  std::uint64_t total = fs::file_size(path);
  for (const auto& file : nissa::earlier_telemetry(path)) total += file.bytes;
  CHECK(total <= 3000);
  std::uint64_t files = 0, bytes = 0;
  Ids ids;
  const auto report = history::read_jsonl(path, [&](const nlohmann::json& packet) {
    for (const auto& event : packet.at("events")) {
      if (event.at("description") != "nissa.telemetry_dropped") continue;
      CHECK(packet.at("level") == event.at("level"));
      files += std::stoull(event["attributes"]["files"].get<std::string>());
      bytes += std::stoull(event["attributes"]["bytes"].get<std::string>());
    }
    if (packet.at("packet_id") != "nissa-telemetry-files") ids.push_back(packet.at("packet_id"));
  });
  REQUIRE(!ids.empty());
  CHECK(ids == numbers(60, std::stoi(ids.front())));
  CHECK(report.missing_files == nissa::earlier_telemetry(path).front().number - 1);
  CHECK((files >= 1 && bytes >= 1000));
  REQUIRE(gaps_of(report).size() == 1);
  CHECK(gaps_of(report)[0].find("telemetry.limit_mb") != std::string::npos);
}

TEST_CASE("earlier files that cannot be deleted stay, which each file that stays reports") {
  if (::geteuid() != 0) SKIP("only root can become another user");
  const FolderOfAnother folder;
  folder.as_its_guest([&] {
    auto sink = sink_of(folder.path, {1, 2});
    for (const auto* name : {"0", "1", "2", "3", "4"}) sink.emit(packet_named(name));
  });
  CHECK(fs::exists(folder.first));
  CHECK(nissa::earlier_telemetry(folder.path).size() == 2);
  CHECK(folder.count_events("nissa.telemetry_undeleted") == 2);
  CHECK(folder.count_events("nissa.telemetry_dropped") == 2);
}

TEST_CASE("that earlier files cannot be deleted is reported again where the event had no room") {
  if (::geteuid() != 0) SKIP("only root can become another user");
  const FolderOfAnother folder;
  folder.as_its_guest([&] {
    auto sink = sink_of(folder.path, {1, 2});
    sink.emit(packet_named("0"));
    std::signal(SIGXFSZ, SIG_IGN);
    set_most_file_bytes(10);
    bool is_lost = false;
    try {
      sink.emit(packet_named("1"));
    } catch (const std::system_error&) {
      is_lost = true;
    }
    set_most_file_bytes(RLIM_INFINITY);
    sink.emit(packet_named("2"));
    if (!is_lost) _exit(1);
  });
  CHECK(folder.count_events("nissa.telemetry_undeleted") == 1);
}

TEST_CASE("with the smallest limit that is permitted the file just filled stays") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  constexpr std::uint64_t kFileBytes = 2000;
  auto sink = sink_of(path, {kFileBytes, 2 * kFileBytes});
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    sink.emit(packet_named(std::to_string(i)));
    CHECK(fs::file_size(path) <= kFileBytes);
    const auto earlier = nissa::earlier_telemetry(path);
    if (earlier.empty()) {
      CHECK(last == 0);
      continue;
    }
    REQUIRE(earlier.size() == 1);
    CHECK((earlier[0].number == last || earlier[0].number == last + 1));
    last = earlier[0].number;
  }
  REQUIRE(last >= 3);
  CHECK(read_telemetry(path).report.missing_files == last - 1);
}

TEST_CASE("a packet longer than a whole file stays, alone, until the next file is full") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  auto sink = sink_of(path, {1000, 2000});
  sink.emit(packet_named("short"));
  sink.emit(packet_named(std::string(5000, 'x')));
  sink.emit(packet_named("after"));
  const auto ids = read_telemetry(path).ids;
  CHECK(std::ranges::find(ids, std::string(5000, 'x')) != ids.end());
  CHECK(ids.back() == "after");
}

TEST_CASE("a file that the sink deletes while a reader is on its way to it is a missing one") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  auto sink = sink_of(path, {1, 0});  // one packet a file
  for (int i = 0; i < 5; ++i) sink.emit(packet_named(std::to_string(i)));
  Ids ids;
  const auto report = history::read_jsonl(path, [&](const nlohmann::json& packet) {
    if (ids.empty()) {  // the files are listed, and the first one is open
      for (const auto* name : {"telemetry-000001.jsonl", "telemetry-000002.jsonl", "telemetry-000003.jsonl"}) {
        REQUIRE(fs::remove(folder / name));
      }
    }
    ids.push_back(packet.at("packet_id"));
  });
  CHECK(ids == Ids{"0", "3", "4"});
  CHECK(report.missing_files == 2);
  CHECK(gaps_of(report).size() == 1);
}

TEST_CASE("a reader beside a sink that begins new files gets every packet before the last it gets, once") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  auto sink = sink_of(path, {300, 0});
  sink.emit(packet_named("0"));
  std::atomic<bool> ended{false};
  std::string wrong;
  std::thread reader([&] {
    while (!ended) {
      const auto ids = read_telemetry(path).ids;
      if (ids != numbers(static_cast<int>(ids.size()))) wrong = "of " + std::to_string(ids.size()) + " packets";
    }
  });
  for (int i = 1; i < 300; ++i) sink.emit(packet_named(std::to_string(i)));
  ended = true;
  reader.join();
  CHECK(wrong.empty());
  CHECK(read_telemetry(path).ids == numbers(300));
}

TEST_CASE("a file that cannot be renamed goes on growing") {
  const TemporaryFolder folder;
  const fs::path path = folder / (std::string(245, 't') + ".jsonl");  // "-000001" makes it longer than names may be
  auto sink = sink_of(path, {1, 0});
  for (const auto* name : {"0", "1", "2"}) sink.emit(packet_named(name));
  CHECK(read_telemetry(path).ids == numbers(3));
  CHECK(nissa::earlier_telemetry(path).empty());
}

TEST_CASE("where the folder cannot be listed no earlier file is replaced, and the file goes on growing") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  auto sink = sink_of(path, {1, 0});
  for (const auto* name : {"0", "1"}) sink.emit(packet_named(name));
  {
    const test::NoMoreFiles none;
    sink.emit(packet_named("2"));
  }
  sink.emit(packet_named("3"));
  CHECK(read_telemetry(path).ids == numbers(4));
}

TEST_CASE("a folder in the place of an earlier file is not replaced, and those who read are told") {
  const TemporaryFolder folder;
  const fs::path path = folder / "telemetry.jsonl";
  auto sink = sink_of(path, {1, 0});
  sink.emit(packet_named("0"));
  fs::create_directory(folder / "telemetry-000001.jsonl");
  sink.emit(packet_named("1"));
  CHECK(fs::exists(folder / "telemetry-000002.jsonl"));
  CHECK_THROWS_AS(read_telemetry(path), storage::UnsafePath);
  fs::remove(folder / "telemetry-000001.jsonl");
  CHECK(read_telemetry(path).ids == numbers(2));
}

TEST_CASE("a thinned line has the metrics that are wanted and everything else") {
  leyline::TelemetryPacket packet = packet_named("a \"metrics\":[ \\");
  using namespace leyline::literals;
  packet.metrics.push_back(leyline::metric("tolaria.training.loss"_metric, 0.5));
  packet.metrics.push_back(leyline::metric("tolaria.step.p50_us"_metric, 7));
  packet.metrics.push_back(leyline::metric("tolaria.step.p95_us"_metric, 9));
  packet.system_health.summary = "}{ \\\" ]";
  std::string line, thin;
  nissa::append_json_line(packet, line);
  line.pop_back();
  const auto whole = nlohmann::json::parse(line);
  for (const auto& wanted : std::vector<Ids>{{},
                                             {"tolaria.training.loss"},
                                             {"tolaria.step.p50_us"},
                                             {"tolaria.step.p95_us", "tolaria.training.loss"},
                                             {"tolaria.step.p95_us", "tolaria.training.loss", "tolaria.step.p50_us"}}) {
    const auto is_wanted = [&](std::string_view name) { return std::ranges::find(wanted, name) != wanted.end(); };
    REQUIRE(history::thin_line(line, is_wanted, thin));
    auto expected = whole;
    auto& metrics = expected["metrics"];
    for (std::size_t i = metrics.size(); i-- > 0;) {
      if (!is_wanted(metrics[i]["name"].get<std::string>())) metrics.erase(i);
    }
    CHECK(nlohmann::json::parse(thin) == expected);
  }
  for (std::size_t cut = 0; cut < line.size(); ++cut) {  // torn lines are not taken for whole ones
    const bool thinned = history::thin_line(line.substr(0, cut), [](std::string_view) { return false; }, thin);
    if (thinned) CHECK_FALSE(nlohmann::json::accept(thin));
  }
}

}  // namespace esper::test::telemetry_files_test
