#include "jobs/progress/progress_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <ctime>

#include "config/writing/write.h"
#include "history/setting_change.h"
#include "run_telemetry.h"
#include "storage/real_file_system.h"
#include "support/temporary_folder.h"

namespace esper::test::progress_reader_test {

using namespace esper;
using namespace esper::jobs::tests;
using jobs::Job;
using jobs::ProgressReader;

namespace {

struct RunRoom {
  test::TemporaryFolder folder;
  Job job{.id = 7, .run_dir = folder / "run"};
  ProgressReader reader;

  void add(const std::string& text) const { append(job.run_dir + "/telemetry.jsonl", text); }
  void add_config(int epochs) const {
    config::RunConfig config;
    config.epochs = epochs;
    append(job.run_dir + "/config.yaml", config::resolved_yaml(config));
  }
};

void look_at_others(ProgressReader& reader) {
  for (jobs::JobId other = 100; other < 100 + 2 * static_cast<jobs::JobId>(ProgressReader::kMostRuns); ++other)
    reader.look({.id = other, .run_dir = "/nowhere"});
}

}  // namespace

TEST_CASE("a run that is not there yet has no epochs, and then what its folder shows") {
  RunRoom room;
  CHECK(room.reader.look(room.job).progress == jobs::Progress{.job = 7});
  room.add_config(12);
  CHECK(room.reader.look(room.job).progress.planned_epochs == 12);
  room.add(epoch_line(1, 2));
  const auto look = room.reader.look(room.job);
  CHECK(look.progress.epochs == 1);
  CHECK(look.progress.planned_epochs == 12);
  CHECK(look.progress.metric == "accuracy");
  room.add(epoch_line(2, 1));
  CHECK(room.reader.look(room.job, look.mark).progress.epoch == std::vector<std::int64_t>{2});
}

TEST_CASE("the planned epochs are those that the run accepted last, and a change of them is news") {
  RunRoom room;
  room.add_config(12);
  room.add(epoch_line(1, 2));
  auto look = room.reader.look(room.job);
  auto& files = storage::real_file_system();
  const history::SettingChange rate{2, "training.optimizer.lr", "0.01", 1};
  history::publish_accepted(files, room.job.run_dir, {rate});
  CHECK(room.reader.look(room.job, look.mark).mark == look.mark);
  for (const auto* epochs : {"30", "20"}) {
    history::publish_accepted(files, room.job.run_dir, {rate, {2, "epochs", "15", 2}, {3, "epochs", epochs, 3}});
    const auto changed = room.reader.look(room.job, look.mark);
    CHECK(std::to_string(changed.progress.planned_epochs) == epochs);
    CHECK(changed.progress.epoch.empty());
    CHECK(changed.mark != look.mark);
    CHECK(room.reader.look(room.job, changed.mark).mark == changed.mark);
    look = changed;
  }
}

TEST_CASE("where the accepted changes are damaged, or no file, the planned epochs are unknown") {
  RunRoom room;
  room.add_config(12);
  room.add(epoch_line(1, 2));
  SECTION("damaged") { append(room.job.run_dir + "/changes/accepted.json", R"({"changes": [)"); }
  SECTION("no number of epochs") {
    history::publish_accepted(storage::real_file_system(), room.job.run_dir, {{2, "epochs", "0", 1}});
  }
  SECTION("a folder") { std::filesystem::create_directories(room.job.run_dir + "/changes/accepted.json"); }
  SECTION("behind a link") {
    history::publish_accepted(storage::real_file_system(), room.folder / "other", {{2, "epochs", "15", 1}});
    std::filesystem::create_directory_symlink(room.folder / "other/changes", room.job.run_dir + "/changes");
  }
  const auto progress = room.reader.look(room.job).progress;
  CHECK(progress.planned_epochs == 0);
  CHECK(progress.epochs == 1);
}

TEST_CASE("what was read stays when the folder goes") {
  RunRoom room;
  room.add_config(3);
  room.add(epoch_line(1, 2));
  room.reader.look(room.job);
  std::filesystem::remove_all(room.job.run_dir);
  CHECK(room.reader.look(room.job).progress.epochs == 1);
}

TEST_CASE("a run that starts in the folder has nothing of the one that was deleted there") {
  RunRoom room;
  room.add_config(12);
  room.add(epoch_line(1, 2) + epoch_line(2, 1) + seed_line(2, "seed-1", "TRAINING", 0));
  const auto before = room.reader.look(room.job);
  REQUIRE(before.progress.seeds.size() == 1);
  std::filesystem::remove_all(room.job.run_dir);
  room.add_config(1000);
  const auto look = room.reader.look(room.job, before.mark);
  CHECK(look.mark.reading != before.mark.reading);
  CHECK(look.progress.planned_epochs == 1000);
  CHECK(look.progress.epochs == 0);
  CHECK(look.progress.seeds.empty());
  room.add(epoch_line(1, 3));
  CHECK(room.reader.look(room.job, look.mark).progress.epoch == std::vector<std::int64_t>{1});
}

TEST_CASE("the runs that were asked for least recently are forgotten") {
  RunRoom room;
  room.add_config(3);
  room.add(epoch_line(1, 2));
  const auto mark = room.reader.look(room.job).mark;
  look_at_others(room.reader);
  const auto again = room.reader.look(room.job, mark);
  CHECK(again.mark != mark);  // read again
  CHECK(again.progress.epoch == std::vector<std::int64_t>{1});
}

TEST_CASE("a run that is kept is not forgotten, and one that is not kept any more is") {
  RunRoom room;
  room.add_config(3);
  room.add(epoch_line(1, 2));
  const auto mark = room.reader.look(room.job).mark;
  room.reader.keep({room.job});
  look_at_others(room.reader);
  CHECK(room.reader.look(room.job, mark).mark == mark);
  CHECK(room.reader.look(room.job, mark).progress.epoch.empty());
  room.reader.keep({});
  look_at_others(room.reader);
  CHECK(room.reader.look(room.job).mark != mark);
}

// Prints what looks take; the limits only find what is many times as slow.
TEST_CASE("a run of 10,000 epochs is read in milliseconds, and read on in less") {
  RunRoom room;
  room.add_config(10'000);
  // As much as a packet of an epoch has.
  std::string more;
  for (int i = 0; i < 110; ++i)
    more += R"({"name":"tolaria.ledger.share","value":0.123456789,"unit":"ratio","attributes":{"owner":"forward"}},)";
  std::string text;
  for (std::uint32_t epoch = 1; epoch <= 10'000; ++epoch) {
    std::string line = epoch_line(epoch, 1);
    line.insert(line.find("\"metrics\":[") + 11, more);
    text += line;
  }
  room.add(text);
  const auto timed = [&] {
    const std::clock_t began = std::clock();  // of this process: the machine may be busy
    room.reader.look(room.job);
    return 1000.0 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  };
  const double first_ms = timed();
  const double again_ms = timed();
  room.add(epoch_line(10'001, 1));
  const double more_ms = timed();
  WARN("line of " << text.size() / 10'000 << " bytes; first look " << first_ms << " ms, again " << again_ms
                  << " ms, one epoch more " << more_ms << " ms");
  const auto look = room.reader.look(room.job).progress;
  CHECK(look.epochs == 10'001);
  CHECK(look.epoch.size() > 300);
  CHECK(first_ms < 500);
  CHECK(again_ms < 100);
}

}  // namespace esper::test::progress_reader_test
