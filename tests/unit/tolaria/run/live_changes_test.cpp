// Settings that change while a run trains: exactly from an epoch on, whatever ends the process in between.
#include "tolaria/run/live_changes.h"

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>

#include "storage/file_tools.h"
#include "support/run_fixture.h"

namespace esper::test::live_changes_test {

using history::accepted_changes;
using history::pending_requests;
using history::publish_request;
using history::SettingChanges;
using tolaria::ChangeableRun;
using tolaria::CheckpointImage;
using tolaria::LiveChanges;
using tolaria::RunOutcome;

namespace {

constexpr char kRun[] = "/run";
constexpr char kLr[] = "training.optimizer.lr";
constexpr char kRate[] = "tolaria.lr_controller.current_lr";

config::RunConfig epochs(int count) {
  auto config = small_config();
  config.epochs = count;
  config.growth.enabled = false;
  config.checkpoint.keep_last = 10;
  return config;
}

ChangeableRun changeable(SmallRun& it) { return {it.facts, it.progress, it.outbox, it.saver}; }

// Leaves a request while epoch `during` trains: when the packet of the one before has been sent.
void request_after(SmallRun& it, std::uint32_t epoch, history::RequestedSettings settings) {
  it.sink.on_packet = [&it, epoch, settings = std::move(settings), done = false](const auto& packet) mutable {
    for (const auto& metric : packet.metrics) {
      if (metric.name != "tolaria.epochs.total" || metric.value != epoch || std::exchange(done, true)) continue;
      publish_request(it.files, kRun, settings);
    }
  };
}

RunOutcome go(SmallRun& it) {
  LiveChanges changes(it.files, kRun, changeable(it));
  it.run.changes = &changes;
  return it.go();
}

// The disk of a killed run, for a process that goes on from one of its checkpoints.
void copy_changes(const FaultyFileSystem& from, SmallRun& to) {
  storage::ensure_folder(to.files, "/run/changes");
  for (const auto& name : from.names_in("/run/changes")) {
    to.files.put("/run/changes/" + name, *from.contents("/run/changes/" + name));
  }
}

CheckpointImage checkpoint_after(SmallRun& it, std::uint32_t epoch) {
  for (const auto& entry : tolaria::list_checkpoints(it.files, kCheckpoints)) {
    auto image = *tolaria::read_checkpoint(it.files, entry.path);
    if (image.info.epoch == epoch) return image;
  }
  FAIL("no checkpoint of epoch " << epoch);
  return {};
}

std::size_t records_of_changes(SmallRun& it) {
  std::size_t found = 0;
  for (const auto& record : it.journal()) found += nlohmann::json::parse(record).value("what", "") == "set" ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("a requested learning rate holds from the next epoch on, and is recorded and reported") {
  SmallRun it(epochs(4));
  request_after(it, 2, {{kLr, "0.5"}});
  CHECK(go(it).kind == RunOutcome::Kind::kDone);
  CHECK(it.values(kRate) == std::vector<double>{0.05, 0.05, 0.5, 0.5});
  CHECK((accepted_changes(it.files, kRun) == SettingChanges{{3, kLr, "0.5", 1}}));
  CHECK(pending_requests(it.files, kRun).empty());
  const auto events = it.events("tolaria.setting_changed");
  REQUIRE(events.size() == 1);
  CHECK(events[0].attributes.at("before") == "0.05");
  CHECK(events[0].attributes.at("after") == "0.5");
  CHECK(events[0].attributes.at("epoch") == "3");
  CHECK(records_of_changes(it) == 1);
  CHECK(checkpoint_after(it, 2).run.at("progress").at("changes").empty());
  CHECK(checkpoint_after(it, 3).run.at("progress").at("changes").size() == 1);
}

TEST_CASE("from any checkpoint, also one older than a change, the run repeats the same bits") {
  SmallRun whole(epochs(4));
  request_after(whole, 2, {{kLr, "0.5"}});
  REQUIRE(go(whole).kind == RunOutcome::Kind::kDone);
  SmallRun unchanged(epochs(4));
  REQUIRE(go(unchanged).kind == RunOutcome::Kind::kDone);
  CHECK_FALSE(differing(whole.bits(), unchanged.bits()).empty());
  for (const std::uint32_t from : {1U, 2U, 3U}) {
    CAPTURE(from);
    SmallRun again(epochs(4), quiet(), checkpoint_after(whole, from));
    copy_changes(whole.files, again);
    REQUIRE(go(again).kind == RunOutcome::Kind::kDone);
    CHECK(differing(again.bits(), whole.bits()).empty());
    // What the checkpoint has seen is not reported again.
    CHECK(again.events("tolaria.setting_changed").size() == (from < 3 ? 1 : 0));
  }
}

TEST_CASE("a process that is killed at any call while it accepts a request leaves a run that follows it exactly") {
  SmallRun whole(epochs(4));
  request_after(whole, 2, {{kLr, "0.5"}});
  REQUIRE(go(whole).kind == RunOutcome::Kind::kDone);
  const auto before = checkpoint_after(whole, 2);
  for (int call = 1;; ++call) {
    CAPTURE(call);
    SmallRun again(epochs(4), quiet(), before);
    FaultyFileSystem files;  // not the one to which another thread writes the journal
    storage::ensure_folder(files, kRun);
    publish_request(files, kRun, {{kLr, "0.5"}});
    bool whole_protocol = false;
    files.kill_at_call(call);
    try {
      LiveChanges changes(files, kRun, changeable(again));
      changes.begin_epoch();
      whole_protocol = true;
    } catch (const ProcessKilled&) {
    }
    files.restart();
    SmallRun next(epochs(4), quiet(), before);
    copy_changes(files, next);
    REQUIRE(go(next).kind == RunOutcome::Kind::kDone);
    CHECK(differing(next.bits(), whole.bits()).empty());
    CHECK((accepted_changes(next.files, kRun) == SettingChanges{{3, kLr, "0.5", 1}}));
    CHECK(pending_requests(next.files, kRun).empty());
    CHECK(next.events("tolaria.setting_changed").size() == 1);
    if (whole_protocol) break;
    REQUIRE(call < 100);
  }
}

TEST_CASE("a request that was accepted already is removed, and does not hold twice") {
  SmallRun it(epochs(4));
  request_after(it, 1, {{kLr, "0.5"}});
  REQUIRE(go(it).kind == RunOutcome::Kind::kDone);
  SmallRun again(epochs(4), quiet(), checkpoint_after(it, 3));
  copy_changes(it.files, again);
  again.files.put("/run/changes/request-0001.json", R"({"set": {"training.optimizer.lr": "0.5"}})");
  REQUIRE(go(again).kind == RunOutcome::Kind::kDone);
  CHECK(pending_requests(again.files, kRun).empty());
  CHECK(accepted_changes(again.files, kRun).size() == 1);
}

TEST_CASE("a request that is not valid is put aside with its reason, and training goes on") {
  SmallRun it(epochs(3));
  storage::ensure_folder(it.files, "/run/changes");
  it.files.put("/run/changes/request-0001.json", R"({"set": {"seed": "4"}})");
  it.files.put("/run/changes/request-0002.json", R"({"set": {"training.optimizer.lr": "-1"}})");
  it.files.put("/run/changes/request-0003.json", "{");
  it.files.put("/run/changes/request-0004.json", R"({"set": {"training.optimizer.lr": "0.25"}})");
  request_after(it, 2, {{"epochs", "1"}});
  CHECK(go(it).kind == RunOutcome::Kind::kDone);
  CHECK(it.values(kRate) == std::vector<double>{0.25, 0.25, 0.25});
  const auto refused = it.events("tolaria.setting_refused");
  REQUIRE(refused.size() == 4);
  CHECK(refused[0].attributes.at("reason").find("seed: cannot be changed while a run trains") != std::string::npos);
  CHECK(refused[1].attributes.at("reason").find("training.optimizer.lr: must be") != std::string::npos);
  CHECK(refused[3].attributes.at("reason").find("2 are trained already") != std::string::npos);
  CHECK(pending_requests(it.files, kRun).empty());
  for (const char* name : {"refused-0001.json", "refused-0002.json", "refused-0003.json", "refused-0005.json"}) {
    CHECK(it.files.contents(std::string("/run/changes/") + name));
  }
}

TEST_CASE("a request waits while the disk fails, which is reported once, and no epoch follows what is not durable") {
  constexpr int kMostCalls = 40;
  for (int call = 1; call < kMostCalls; ++call) {
    CAPTURE(call);
    SmallRun it(epochs(4));
    FaultyFileSystem files;
    storage::ensure_folder(files, kRun);
    publish_request(files, kRun, {{kLr, "0.5"}});
    LiveChanges changes(files, kRun, changeable(it));
    files.fail_call(call, EIO);
    changes.begin_epoch();
    const bool failed = files.fault_happened();
    const double lr = it.facts.config.training.optimizer.lr;
    CHECK((lr == 0.5 || lr == 0.05));
    it.progress.epoch = 1;
    changes.begin_epoch();
    CHECK(it.facts.config.training.optimizer.lr == 0.5);
    CHECK((accepted_changes(files, kRun) == SettingChanges{{lr == 0.5 ? 1U : 2U, kLr, "0.5", 1}}));
    CHECK(it.events("tolaria.setting_refused").size() <= 1);
    if (!failed) break;
  }
}

TEST_CASE("where publishing failed halfway and the request is gone, the list on the disk is what training follows") {
  constexpr int kMostCalls = 40;
  for (int call = 1; call < kMostCalls; ++call) {
    CAPTURE(call);
    SmallRun it(epochs(4));
    FaultyFileSystem files;
    storage::ensure_folder(files, kRun);
    const auto request = publish_request(files, kRun, {{kLr, "0.5"}});
    LiveChanges changes(files, kRun, changeable(it));
    files.fail_call(call, EIO);
    changes.begin_epoch();
    if (!files.fault_happened()) break;
    storage::remove_all(files, request.path);
    it.progress.epoch = 1;
    changes.begin_epoch();
    CHECK(accepted_changes(files, kRun).empty() == (it.facts.config.training.optimizer.lr == 0.05));
  }
}

TEST_CASE("fields that are read at the end of an epoch change too: the run gets more epochs, then stops early") {
  SmallRun it(epochs(2));
  request_after(it, 2,
                {{"epochs", "9"},
                 {"training.early_stop_epochs", "1"},
                 {"checkpoint.every", "2 epochs"},
                 {"training.early_stop_min_delta", "1000"}});
  CHECK(go(it).kind == RunOutcome::Kind::kEarlyStopped);
  CHECK(it.progress.epoch > 2);
  CHECK(it.progress.epoch < 9);
  SmallRun again(epochs(2), quiet(), checkpoint_after(it, 2));
  copy_changes(it.files, again);
  CHECK(go(again).kind == RunOutcome::Kind::kEarlyStopped);
  CHECK(differing(again.bits(), it.bits()).empty());
}

TEST_CASE("without requests, an epoch's begin looks into the folder once") {
  SmallRun it(epochs(2));
  LiveChanges changes(it.files, kRun, changeable(it));
  const int before = it.files.calls();
  changes.begin_epoch();
  CHECK(it.files.calls() == before + 1);
}

}  // namespace esper::test::live_changes_test
