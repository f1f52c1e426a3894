#include "runs/run_index.h"

#include <catch2/catch_test_macros.hpp>

#include "history/setting_change.h"
#include "run_room.h"
#include "storage/folder_lock.h"

using namespace esper::runs::test;

namespace esper::runs::run_index_test {

TEST_CASE("only what changed is read again, and what is gone is dropped") {
  const esper::test::TemporaryFolder room;
  std::vector<RunFolder> folders;
  for (int i = 0; i < 40; ++i) folders.emplace_back(room / ("run" + std::to_string(i)));
  auto first = refresh({}, {room.path()});
  CHECK(first.runs.size() == 40);
  CHECK(first.read == 40);
  CHECK(std::ranges::is_sorted(first.runs, {}, &RunRecord::path));
  auto same = refresh(first.runs, {room.path()});
  CHECK(same.kept == 40);
  CHECK(same.read + same.gone == 0);
  folders[7].add_summary("done", 5);
  fs::remove_all(folders[9].path);
  const auto third = refresh(same.runs, {room.path()});
  CHECK(third.read == 1);
  CHECK(third.kept == 38);
  CHECK(third.gone == 1);
  const auto changed = std::ranges::find(third.runs, folders[7].path, &RunRecord::path);
  REQUIRE(changed != third.runs.end());
  CHECK(changed->state == RunState::kFinished);
}

TEST_CASE("everything that a run writes changes its stamp, and so does the end of its process") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  auto known = refresh({}, {room.path()}).runs;
  const auto is_read_again = [&] {
    auto now = refresh(known, {room.path()});
    known = now.runs;
    return now.read == 1;
  };
  CHECK_FALSE(is_read_again());
  auto lock = storage::try_lock_folder(storage::real_file_system(), run.path);
  CHECK(is_read_again());
  CHECK(known[0].state == RunState::kRunning);
  lock.lock.reset();  // as where the process is killed: no file changes
  CHECK(is_read_again());
  CHECK(known[0].state == RunState::kInterrupted);
  run.report_epoch(3, 1, 1, 2);
  CHECK(is_read_again());
  run.add_record({{"what", "lane"}});
  CHECK(is_read_again());
  run.add_checkpoint(3, 1, 1);
  CHECK(is_read_again());
  CHECK(known[0].checkpoints == 3);
  fs::remove_all(run.checkpoint(1));
  CHECK(is_read_again());
  run.add_summary("done", 9);
  CHECK(is_read_again());
  run.add_summary("diverged", 9);
  CHECK(is_read_again());
  CHECK(known[0].state == RunState::kDiverged);
  for (const char* epochs : {"5", "7"}) {
    history::publish_accepted(storage::real_file_system(), run.path, {{3, "epochs", epochs, 1}});
    CHECK(is_read_again());
    CHECK(std::to_string(known[0].planned_epochs.value_or(0)) == epochs);
    const std::string changes = run.path + "/changes";
    fs::last_write_time(changes, fs::last_write_time(changes) - std::chrono::seconds(1));  // its clock is coarse
    CHECK(is_read_again());
  }
  CHECK_FALSE(is_read_again());
}

TEST_CASE("records that were stored as JSON are known again") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const auto first = refresh({}, {room.path()});
  const auto stored = base::from_json<RunRecord>(base::to_json(first.runs[0]));
  REQUIRE(stored);
  CHECK(refresh({*stored}, {room.path()}).kept == 1);
}

}  // namespace esper::runs::run_index_test
