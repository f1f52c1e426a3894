// The journal of a run in several files: what a resumed run reads of the newest ones is what it would read of all.
#include "tolaria/checkpoint/run_journal.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "history/growth/growth_history.h"
#include "history/growth/run_history.h"
#include "leyline/seed_id.h"
#include "storage/file_tools.h"
#include "support/checkpoint_fixture.h"
#include "support/faults/faulty_file_system.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/checkpoint/growth_check.h"

namespace esper::test::run_journal_test {

using lanes::lane_record_json;
using lanes::read_lane_log;
using tolaria::best_checkpoint;
using tolaria::CheckpointStore;
using tolaria::had_checkpoints;
using tolaria::RunJournal;
using tolaria::start_record;

namespace {

using esper::test::FaultyFileSystem;
using history::RunPlace;
using leyline::Stage;
using leyline::Topology;
using nlohmann::json;

constexpr char kRun[] = "/run";
constexpr char kJournal[] = "/run/journal";
constexpr std::uint64_t kSmallFile = 700;

std::string key_of(int n) { return std::string(31, '0') + std::to_string(n % 10); }

RunPlace place_of(int n) { return {static_cast<std::uint32_t>(n), 10 * n}; }

// At each place the seed's stage changes, a lane is noted and a checkpoint recorded; files are begun where they are
// full.
class LongRun {
 public:
  explicit LongRun(int places) {
    storage::ensure_folder(files, kRun);
    RunJournal journal(files, kJournal, kSmallFile);
    topology.slots = {{"r0c0", Stage::kDormant, "", ""}};
    journal.append(start_record("started", {0, 0, ""}, topology));
    for (int n = 1; n <= places; ++n) go_on(journal, n);
  }

  void go_on(RunJournal& journal, int n) {
    const auto place = place_of(n);
    if (n % 3 == 0) journal.append(event(n));
    const lanes::LaneRecord lane{
        .step = place.step,
        .key = key_of(n),
        .on_trial = n % 3 == 0,
        .then = n % 4 == 0 ? key_of(n + 1) : "",
        .progress = {.stage = n % 2 == 0 ? lanes::LaneStage::kComparing : lanes::LaneStage::kNone, .count = n % 2}};
    if (n % 5 == 0) journal.append(lane_record_json("shape " + std::to_string(n % 2), lane));
    journal.append(json{{"what", "checkpoint"},
                        {"name", "c" + std::to_string(n)},
                        {"epoch", place.epoch},
                        {"step", place.step},
                        {"best", n % 7 == 0},
                        {"bytes", 5},
                        {"topology", topology_hash(topology)}}
                       .dump());
    if (journal.is_file_full()) journal.begin_file(place, topology, "c" + std::to_string(n - n % 7));
    at[n] = topology;
  }

  FaultyFileSystem files;
  Topology topology;
  std::map<int, Topology> at;

 private:
  std::string event(int n) {
    const Stage from = topology.slots[0].stage;
    const bool born = !has_module(from);
    const Stage to = born ? Stage::kGerminated : Stage::kCulled;
    const std::string seed = leyline::seed_id_of(topology.seeds_born + (born ? 1 : 0));
    history::GrowthRecord record;
    record.what = "stage";
    record.place = place_of(n);
    record.event = history::GrowthEvent{.seed_id = seed, .slot = "r0c0", .blueprint = "lora", .from = from, .to = to};
    CHECK(apply(topology, {"r0c0", seed, "lora", from, to}).empty());
    return growth_record_json(record).dump();
  }
};

std::size_t files_of(FaultyFileSystem& files) {
  std::size_t count = 0;
  for (const auto& name : files.names_in(kRun)) count += name.starts_with("journal") ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("whatever checkpoint a run is resumed from, the newest files suffice") {
  constexpr int kPlaces = 60;
  LongRun run(kPlaces);
  REQUIRE(files_of(run.files) > 8);
  const auto whole = history::read_journal(run.files, kRun);
  CHECK(whole.gaps.empty());
  const auto all_lanes = read_lane_log(run.files, kJournal, 0);
  for (int n = 1; n <= kPlaces; ++n) {
    INFO("resumed at epoch " << n);
    const auto part = history::read_journal_since(run.files, kRun, place_of(n));
    CHECK(part.gaps.empty());
    CHECK(part.history.replay(place_of(n)).topology == whole.history.replay(place_of(n)).topology);
    CHECK(compare(part.history, place_of(n), run.at[n]).kind == history::Agreement::Kind::kAgrees);
    auto other = run.at[n];
    other.slots[0].id = "r9c9";
    CHECK(compare(part.history, place_of(n), other).kind == history::Agreement::Kind::kDiffers);
    CHECK(part.history.num_records() == whole.history.num_records());
    const auto lanes = read_lane_log(run.files, kJournal, place_of(n).step);
    for (const std::string shape : {"shape 0", "shape 1"}) {
      for (int later = n; later <= kPlaces; ++later) {
        CHECK((lanes.at(shape, place_of(later).step) == all_lanes.at(shape, place_of(later).step)));
      }
    }
  }
}

TEST_CASE("a resumed run reads the newest file of its journal and no earlier one") {
  LongRun run(60);
  const auto names = run.files.names_in(kRun);
  for (const auto& name : names) {
    if (name != "journal" && name != "journal-000001")
      run.files.put(std::string(kRun) + "/" + name, "no journal at all");
  }
  CHECK_THROWS_AS(history::read_journal(run.files, kRun), base::Error);
  const auto part = history::read_journal_since(run.files, kRun, place_of(60));
  CHECK(compare(part.history, place_of(60), run.at[60]).kind == history::Agreement::Kind::kAgrees);
  CHECK(read_lane_log(run.files, kJournal, place_of(60).step).at("shape 0", 600).has_value());
  RunJournal goes_on(run.files, kJournal, kSmallFile);
  goes_on.append(R"({"what":"lane","step":700,"shape":"shape 0","key":""})");
}

TEST_CASE("a run that went back goes on in the same journal, over the begin of a file too") {
  LongRun run(20);
  {
    RunJournal journal(run.files, kJournal, kSmallFile);
    run.topology = run.at[11];
    journal.append(start_record("resumed", {place_of(11).step, place_of(11).epoch, ""}, run.topology));
    for (int n = 12; n <= 30; ++n) run.go_on(journal, n);
  }
  const auto whole = history::read_journal(run.files, kRun);
  CHECK(whole.gaps.empty());
  for (int n = 12; n <= 30; ++n) {
    INFO("epoch " << n);
    CHECK(whole.history.replay(place_of(n)).topology == run.at[n]);
    const auto part = history::read_journal_since(run.files, kRun, place_of(n));
    CHECK(part.history.replay(place_of(n)).topology == run.at[n]);
  }
}

TEST_CASE("a journal without its earlier files returns the rest, and reports that they are missing") {
  LongRun run(60);
  for (const auto& name : run.files.names_in(kRun)) {
    if (name != "journal") run.files.remove(std::string(kRun) + "/" + name);
  }
  const auto left = history::read_journal(run.files, kRun);
  REQUIRE(left.gaps.size() == 1);
  CHECK(left.gaps[0].find("(segment): earlier records are missing") != std::string::npos);
  CHECK(left.history.replay().topology == run.topology);
}

TEST_CASE("the store begins a new file of the journal at a checkpoint, and knows the best one from the newest file") {
  FaultyFileSystem files;
  storage::ensure_folder(files, "/run/checkpoints");
  auto config = keeping(3, true);
  for (const bool again : {false, true}) {
    CheckpointStore store(files, "/run/checkpoints", kJournal, config, kSmallFile / 2);
    if (!again) store.record(start_record("started", {0, 0, ""}, {}));
    for (std::uint32_t epoch = again ? 11 : 1; epoch <= (again ? 20u : 10u); ++epoch) {
      auto image = small_image(epoch);
      image.run["topology"] = json::parse(R"({"seeds_born": 0, "slots": []})");
      const auto published =
          store.publish(image, epoch == 2 ? CheckpointStore::Rank::kBest : CheckpointStore::Rank::kOrdinary);
      CHECK(published.not_rotated.empty());
    }
    CHECK(store.entries().front().epoch == 2);  // the best one stays
  }
  REQUIRE(files_of(files) > 4);
  CHECK(best_checkpoint(files, "/run/checkpoints", kJournal) == "epoch-0002-step-000000020");
  CHECK(had_checkpoints(files, "/run/checkpoints", kJournal));
  CHECK(history::read_journal(files, kRun).gaps.empty());
}

TEST_CASE("damaged lane records are counted and ignored") {
  FaultyFileSystem files;
  storage::ensure_folder(files, kRun);
  storage::JournalWriter journal(files, kJournal);
  for (const auto* text :
       {R"({"what":5,"lane":1})", R"({"what":["lane"]})", R"(["lane"])", "\"lane\"",
        R"({"what":"lane","step":"1","shape":"s","key":""})",
        R"({"what":"lane","step":3,"shape":"s","key":"not hexadecimal"})",
        R"({"what":"lane","step":4,"shape":"s","key":5})", R"({"what":"lane","step":-1,"shape":"s"})",
        R"({"what":"lane","step":5,"shape":"s","key":"","trial":"no"})",
        R"({"what":"lane","step":5,"shape":"s","key":"","then":1})",
        R"({"what":"lane","step":5,"shape":"s","key":"","stage":7})",
        R"({"what":"lane","step":5,"shape":"s","key":"","stage":"comparing","count":-1})",
        R"({"what":"lane","step":5,"shape":"s","key":"","stage":"comparing","count":0.5})"}) {
    journal.append(text);
  }
  journal.append(lane_record_json("s", {1, key_of(1)}));
  const auto log = read_lane_log(files, kJournal, 0);
  CHECK(log.damaged() == 9);
  REQUIRE(log.at("s", 9).has_value());
  CHECK(log.at("s", 9)->key == key_of(1));
}

TEST_CASE("a program on trial is read back as such, and one of a record that does not say so was adopted") {
  FaultyFileSystem files;
  storage::ensure_folder(files, kRun);
  storage::JournalWriter journal(files, kJournal);
  journal.append(lane_record_json("s", {1, key_of(1), true}));
  journal.append(lane_record_json("s", {2, key_of(1)}));
  journal.append(R"({"what":"lane","step":1,"shape":"of an older version","key":")" + key_of(1) + R"("})");
  journal.append(R"({"what":"lane","step":1,"shape":"of another version","key":"","stage":"later"})");
  const auto log = read_lane_log(files, kJournal, 0);
  CHECK(log.damaged() == 0);
  CHECK(log.at("s", 1)->on_trial);
  CHECK_FALSE(log.at("s", 2)->on_trial);
  CHECK_FALSE(log.at("of an older version", 1)->on_trial);
  CHECK(log.at("of another version", 1)->progress == lanes::LaneProgress());
}

}  // namespace esper::test::run_journal_test
