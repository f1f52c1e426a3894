#include "tolaria/checkpoint/decision_file.h"

#include <catch2/catch_test_macros.hpp>
#include <cerrno>

#include "config/writing/write.h"
#include "storage/file_tools.h"
#include "support/faults/faulty_file_system.h"
#include "support/logged_decision.h"
#include "support/run_fixture.h"
#include "tolaria/report/run_report.h"

namespace esper::test::decision_file_test {

using tolaria::DecisionFile;

namespace {

constexpr char kLog[] = "/run/decisions.jsonl";

std::vector<std::string> lines_of(const FaultyFileSystem& files) {
  std::vector<std::string> lines{""};
  for (const char c : files.contents(kLog).value_or("")) c == '\n' ? lines.emplace_back() : lines.back() += c;
  return lines;
}

// The epochs of the whole lines; what is no record is -1.
std::vector<int> epochs_of(const FaultyFileSystem& files) {
  std::vector<int> epochs;
  for (const auto& line : lines_of(files)) {
    if (line.empty()) continue;
    const auto read = leyline::read_decision_line(line);
    const auto* record = read ? std::get_if<leyline::DecisionRecord>(&*read) : nullptr;
    epochs.push_back(record == nullptr ? -1 : static_cast<int>(record->observation.current_epoch));
  }
  return epochs;
}

// A run's file in a file system that can fail.
struct LoggedRun {
  LoggedRun() { storage::ensure_folder(files, "/run"); }

  FaultyFileSystem files;
  DecisionFile log{files, kLog};
};

// The first record is on the disk, and the second one is to be synced.
struct UnsyncedRun : LoggedRun {
  UnsyncedRun() {
    log.append(logged_decision(1));
    log.sync();
    log.append(logged_decision(2));
  }
};

}  // namespace

TEST_CASE("records are appended, by later processes too") {
  FaultyFileSystem files;
  storage::ensure_folder(files, "/run");
  for (const std::uint32_t epoch : {1, 2}) {
    DecisionFile log(files, kLog);
    log.append(logged_decision(epoch));
    log.sync();
  }
  CHECK(epochs_of(files) == std::vector<int>{1, 2});
}

TEST_CASE("a line that was cut off costs no other line") {
  LoggedRun run;
  auto& [files, log] = run;
  log.append(logged_decision(1));
  files.limit_bytes(files.used_bytes() + 100);
  CHECK_THROWS_AS(log.append(logged_decision(2)), base::IoError);
  files.limit_bytes(UINT64_MAX);
  SECTION("nor the next") {
    log.append(logged_decision(3));
    CHECK(epochs_of(files) == std::vector<int>{1, -1, 3});
  }
  SECTION("nor those before it their sync") {
    log.sync();
    files.lose_power(PowerLoss::kDropAll);
    CHECK(epochs_of(files) == std::vector<int>{1, -1});
  }
}

TEST_CASE("what was synced survives a power loss") {
  UnsyncedRun run;
  auto& [files, log] = run;
  files.lose_power(PowerLoss::kDropAll);
  CHECK(epochs_of(files) == std::vector<int>{1});
}

TEST_CASE("what could not be synced is written again with the next try, since a second sync alone would not do it") {
  for (const int failing_call : {1, 2}) {  // of the file, of its folder
    CAPTURE(failing_call);
    UnsyncedRun run;
    auto& [files, log] = run;
    files.fail_call(failing_call, EIO);
    CHECK_THROWS_AS(log.sync(), base::IoError);
    log.sync();
    CHECK(epochs_of(files) == std::vector<int>{1, 2});
    files.lose_power(PowerLoss::kDropAll);
    CHECK(epochs_of(files) == std::vector<int>{1, 2});
  }
}

TEST_CASE("what could not be synced is kept where it cannot be written again either") {
  UnsyncedRun run;
  auto& [files, log] = run;
  files.fail_call(1, EIO);
  CHECK_THROWS_AS(log.sync(), base::IoError);
  files.limit_bytes(files.used_bytes() + 10);
  CHECK_THROWS_AS(log.sync(), base::IoError);
  files.limit_bytes(UINT64_MAX);
  log.append(logged_decision(3));
  log.sync();
  files.lose_power(PowerLoss::kDropAll);
  CHECK(epochs_of(files) == std::vector<int>{1, 2, 3});
}

TEST_CASE("a run logs each decision before the checkpoint that follows it, and its run file first") {
  SmallRun it;
  tolaria::report_start(it.run, {.run_dir = "/run"});
  CHECK(it.go().kind == tolaria::RunOutcome{}.kind);
  REQUIRE(it.saver.finish());
  CHECK(epochs_of(it.files) == std::vector<int>{-1, 1, 2, 3});
  const auto process = leyline::read_decision_line(lines_of(it.files).front());
  REQUIRE(process);
  CHECK(std::get<leyline::DecisionProcess>(*process).config == config::resolved_yaml(it.facts.config));
}

}  // namespace esper::test::decision_file_test
