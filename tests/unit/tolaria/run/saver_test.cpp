// What becomes of a run when its disk fails: training goes on, and what is reported is true.

#include "tolaria/run/saver.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "support/comes_true.h"
#include "support/run_fixture.h"
#include "tolaria/summary.h"

namespace esper::test::saver_test {

using tolaria::best_checkpoint;
using tolaria::BestEpoch;
using tolaria::exit_code_of;
using tolaria::list_checkpoints;
using tolaria::read_checkpoint;
using tolaria::RunOutcome;
using tolaria::summarize;

namespace {

using leyline::Level;
using leyline::Observation;
using Kind = RunOutcome::Kind;

// Calls `at` with the epoch that is decided upon; the writer may be busy then.
ScriptedController::Script at_each_epoch(std::function<void(std::uint32_t)> at) {
  return [at = std::move(at)](const Observation& seen) {
    at(seen.current_epoch);
    return leyline::Decision{};
  };
}

config::RunConfig epochs(int count) {
  auto config = small_config();
  config.epochs = count;
  config.checkpoint.keep_last = 10;
  return config;
}

void check_all_whole(SmallRun& it) {
  for (const auto& entry : list_checkpoints(it.files, kCheckpoints)) CHECK(read_checkpoint(it.files, entry.path));
  for (const auto& name : it.files.names_in(kCheckpoints)) CHECK(name.find(".tmp-") == std::string::npos);
}

// However often its deadline passes.
void flush(SmallRun& it) {
  CHECK(comes_true([&] { return it.writer.flush(); }));
}

// The copies of tensors that this thread makes meanwhile.
int copies_in(const std::function<void()>& work) {
  static thread_local int count = 0;
  count = 0;
  const at::RecordFunctionGuard enabled(true);
  const auto handle = at::addThreadLocalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction& call) -> std::unique_ptr<at::ObserverContext> {
        if (std::strcmp(call.name(), "aten::_to_copy") == 0) ++count;
        return nullptr;
      }).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  return count;
}

}  // namespace

TEST_CASE("a save shares the copy that the run keeps to go back to: the state is copied once") {
  auto config = epochs(4);
  config.checkpoint.keep_best = false;
  std::int64_t steps = 0;
  const auto copies_of_run = [&](const base::Length& every) {
    config.checkpoint.every = every;
    SmallRun it(config);
    const int copies = copies_in([&] { CHECK(it.go().kind == Kind::kDone); });
    steps = it.progress.step;
    return copies;
  };
  using Unit = base::Length::Unit;
  const int of_last_save = copies_of_run({100, Unit::kEpochs});  // which has none to share
  CHECK(copies_of_run({1, Unit::kEpochs}) < of_last_save);

  // A save after a step has its copy made for it.
  SmallRun it(config);
  const int of_copy = copies_in([&] { const tolaria::StateCopy copy(*it.model, torch::kCPU); });
  CHECK(of_copy > 0);
  constexpr int kEvery = 3;
  const int more = copies_of_run({kEvery, Unit::kSteps}) - of_last_save;
  CHECK(more < 2 * of_copy * steps / kEvery);
}

TEST_CASE("the state that is saved after an error has no averaged statistics, and a run goes on from it as ever") {
  auto config = epochs(2);
  config.training.ema_decay = 0.9;
  SmallRun whole(config);
  REQUIRE(whole.go().kind == Kind::kDone);
  SmallRun it(config);
  int computed = 0;
  const auto statistics = [&] {
    ++computed;
    return std::vector<kasmina::NamedTensor>{{"averaged.norm.mean", at::ones({2})}};
  };
  tolaria::Saver saver({it.facts, *it.model, it.progress, it.policy, statistics}, it.writer, it.outbox, it.ledger,
                       it.display);
  const tolaria::StateCopy good(*it.model, torch::kCPU);
  saver.hold(good, it.progress);
  REQUIRE(saver.save_last_state());
  CHECK(computed == 0);
  const auto saved = newest_checkpoint(it);
  CHECK(std::ranges::find(saved.tensors, "averaged.norm.mean", &kasmina::NamedTensor::id) == saved.tensors.end());

  SmallRun resumed(config, quiet(), saved);
  REQUIRE(resumed.go().kind == Kind::kDone);
  CHECK(differing(whole.bits(), resumed.bits()).empty());
}

TEST_CASE("a run saves each epoch, reports it, and its figures say so") {
  SmallRun it(epochs(4));
  CHECK(it.go().kind == Kind::kDone);
  CHECK(list_checkpoints(it.files, kCheckpoints).size() == 4);
  const auto saved = it.events("tolaria.checkpoint_saved");
  REQUIRE(saved.size() == 4);
  for (std::size_t i = 0; i < saved.size(); ++i) {
    CHECK(saved[i].attributes.at("epoch") == std::to_string(i + 1));
    CHECK(saved[i].attributes.at("step") == std::to_string(6 * (i + 1)));
    CHECK(std::stoll(saved[i].attributes.at("bytes")) > 1000);
    CHECK(saved[i].attributes.at("path").starts_with(kCheckpoints));
  }
  CHECK(it.saver.figures().written == 4);
  // The save of an epoch is under way when its packet goes out; that of the epoch before is done.
  const auto written = it.values("tolaria.checkpoint.written_total");
  REQUIRE(written.size() == 4);
  CHECK(written[3] >= 3);
  CHECK(it.values("tolaria.checkpoint.bytes")[3] > 1000);
  CHECK(it.values("tolaria.checkpoint.save_ms")[3] > 0);
  CHECK(it.values("tolaria.checkpoint.stall_ms")[0] > 0);
  CHECK(it.values("tolaria.checkpoint.failed_total")[3] == 0);
  CHECK(it.values("tolaria.checkpoint.skipped_total")[3] == 0);
}

TEST_CASE("a full disk pauses saving, training goes on, and saving resumes when there is space") {
  SmallRun* here = nullptr;
  SmallRun it(epochs(5), at_each_epoch([&](std::uint32_t epoch) {
                if (epoch == 2) {
                  here->writer.flush();
                  here->files.limit_bytes(here->files.used_bytes());
                }
                if (epoch == 4) here->files.limit_bytes(UINT64_MAX);
              }));
  here = &it;
  CHECK(it.go().kind == Kind::kDone);
  CHECK(it.run.progress.epoch == 5);
  const auto paused = it.events("tolaria.save_paused");
  REQUIRE(paused.size() == 1);
  CHECK(paused[0].level == Level::kWarning);
  CHECK(paused[0].attributes.at("reason").find("No space left") != std::string::npos);
  CHECK(it.events("tolaria.checkpoint_failed").size() == 1);
  CHECK(it.events("tolaria.save_resumed").size() == 1);
  CHECK(it.saver.figures().failed >= 1);
  CHECK(list_checkpoints(it.files, kCheckpoints).back().epoch == 5);
  check_all_whole(it);
  // The packet that tells of it is degraded, for those who only look at health.
  bool degraded = false;
  for (const auto& packet : it.packets("tolaria")) {
    degraded =
        degraded || (packet.level == Level::kWarning && packet.system_health.status == leyline::Health::kDegraded);
  }
  CHECK(degraded);
}

TEST_CASE("on a disk that stays full the last save takes the space that was kept for it") {
  SmallRun* here = nullptr;
  SmallRun it(epochs(3), at_each_epoch([&](std::uint32_t epoch) {
                if (epoch != 2) return;
                here->writer.flush();
                here->files.limit_bytes(here->files.used_bytes());
              }));
  here = &it;
  CHECK(it.go().kind == Kind::kDone);
  CHECK(it.events("tolaria.save_paused").size() == 1);
  const auto released = it.events("tolaria.reserve_released");
  REQUIRE(released.size() == 1);
  CHECK(std::stoull(released[0].attributes.at("bytes")) > 0);
  CHECK(list_checkpoints(it.files, kCheckpoints).back().epoch == 3);
  check_all_whole(it);
}

TEST_CASE("space is kept while a run goes on, and a disk that has none for it is reported once") {
  SmallRun* here = nullptr;
  std::uint64_t kept = 0;
  std::shared_ptr<FaultyFileSystem> disk;
  {
    SmallRun it(epochs(4), at_each_epoch([&](std::uint32_t epoch) {
                  here->writer.flush();
                  if (epoch == 2) kept = here->files.contents("/run/reserve").value_or("").size();
                }));
    here = &it;
    disk = it.disk;
    CHECK(it.go().kind == Kind::kDone);
    CHECK(kept > it.saver.figures().bytes);
  }
  CHECK(disk->kind_of("/run/reserve") == base::PathKind::kNothing);

  SmallRun full(epochs(4), at_each_epoch([&](std::uint32_t epoch) {
                  if (epoch != 1) return;
                  here->files.limit_bytes(here->files.used_bytes() + 60'000);  // room for the checkpoints
                  here->writer.keep_space(1'000'000);                          // as for a network that has grown
                }));
  here = &full;
  CHECK(full.go().kind == Kind::kDone);
  CHECK(full.events("tolaria.reserve_failed").size() == 1);
  CHECK(list_checkpoints(full.files, kCheckpoints).size() == 4);
}

TEST_CASE("a disk that stays full to the end is exit 6, and the last good checkpoint is still there") {
  SmallRun* here = nullptr;
  auto config = epochs(3);
  config.checkpoint.reserve_space = false;
  SmallRun it(config, at_each_epoch([&](std::uint32_t epoch) {
                if (epoch != 2) return;
                here->writer.flush();
                here->files.limit_bytes(here->files.used_bytes());
              }));
  here = &it;
  const auto outcome = it.go();
  CHECK(outcome.kind == Kind::kNotSaved);
  CHECK(exit_code_of(outcome) == base::ExitCode::kResources);
  CHECK(it.run.progress.epoch == 3);
  CHECK(it.events("tolaria.save_paused").size() == 1);
  CHECK(it.events("tolaria.save_resumed").empty());
  CHECK(list_checkpoints(it.files, kCheckpoints).back().epoch == 1);
  check_all_whole(it);
}

TEST_CASE("one failed write at the end is tried again") {
  for (const int error_number : {EIO, ENOSPC}) {
    SmallRun* here = nullptr;
    auto config = epochs(2);
    config.checkpoint.every = {0, base::Length::Unit::kEpochs};  // at the end only
    config.checkpoint.keep_best = false;
    SmallRun it(config, at_each_epoch([&](std::uint32_t epoch) {
                  if (epoch == 2) here->files.fail_call(4, error_number);
                }));
    here = &it;
    it.saver.save();  // of epoch 0, so that the failing call is not the first one of the run
    REQUIRE(it.saver.finish());
    CHECK(it.go().kind == Kind::kDone);
    CHECK(list_checkpoints(it.files, kCheckpoints).back().epoch == 2);
    check_all_whole(it);
  }
}

TEST_CASE("a disk that hangs for a while costs saves, not the run") {
  SmallRun* here = nullptr;
  auto config = epochs(4);
  config.safety.save_deadline = std::chrono::milliseconds(500);
  SmallRun it(config, at_each_epoch([&](std::uint32_t epoch) {
                if (epoch == 1) {
                  flush(*here);  // else what the run noted at its start may be what hangs
                  here->files.hold_calls();
                }
                if (epoch == 4) {
                  here->files.release_calls();
                  flush(*here);
                }
              }));
  here = &it;
  CHECK(it.go().kind == Kind::kDone);
  const auto skipped = it.events("tolaria.checkpoint_skipped");
  REQUIRE(skipped.size() == 2);
  CHECK(skipped[0].attributes.at("epoch") == "2");
  CHECK(it.saver.figures().skipped == 2);
  CHECK(it.values("tolaria.checkpoint.skipped_total") == std::vector<double>{0, 1, 2, 2});
  CHECK(it.values("tolaria.checkpoint.stall_ms")[1] >= 500);
  CHECK(list_checkpoints(it.files, kCheckpoints).back().epoch == 4);
}

TEST_CASE("a disk that hangs to the end is exit 6 after the deadline; an interrupted run does not claim to be saved") {
  for (const bool interrupt : {false, true}) {
    SmallRun* here = nullptr;
    auto config = epochs(2);
    config.safety.save_deadline = std::chrono::milliseconds(30);
    SmallRun it(config, at_each_epoch([&](std::uint32_t epoch) {
                  if (epoch == 1) here->files.hold_calls();
                  if (epoch == 1 && interrupt) raise(SIGINT);
                }));
    here = &it;
    const auto outcome = it.go();
    CHECK(outcome.kind == Kind::kNotSaved);
    CHECK_FALSE(it.writer.flush());                                    // the run ended before the disk went on
    CHECK(summarize(it.run, outcome, "/run")["checkpoints"].empty());  // asked for while the disk still hangs
    it.files.release_calls();
    flush(it);  // the disk goes before the thread would
  }
}

TEST_CASE("lost journal records are reported once and counted, and cost neither the run nor its saves") {
  SmallRun* here = nullptr;
  SmallRun it(epochs(3), at_each_epoch([&](std::uint32_t epoch) {
                if (epoch != 1) return;
                here->writer.flush();
                here->files.limit_bytes(here->files.used_bytes());
                for (int i = 0; i < 3; ++i) here->writer.record(R"({"what":"note"})");
                here->writer.flush();
                here->files.limit_bytes(UINT64_MAX);
              }));
  here = &it;
  CHECK(it.go().kind == Kind::kDone);
  CHECK(it.saver.figures().lost_records == 3);
  const auto failed = it.events("tolaria.journal_failed");
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].level == Level::kWarning);
  CHECK(failed[0].attributes.at("reason").find("/run/journal") != std::string::npos);
  CHECK(it.values("tolaria.journal.lost_total").back() == 3);
  CHECK(it.saver.figures().failed == 0);
  CHECK(it.events("tolaria.save_paused").empty());
  CHECK(list_checkpoints(it.files, kCheckpoints).size() == 3);
}

TEST_CASE("a superseded checkpoint that cannot be deleted is reported, and goes with the next save") {
  auto config = epochs(1);
  config.checkpoint.keep_last = 1;
  config.checkpoint.keep_best = false;
  bool reported = false;
  for (int n = 1; n < 100 && !reported; ++n) {
    SmallRun it(config);
    it.saver.save();
    REQUIRE(it.saver.finish());
    it.run.progress.step = 1;
    it.files.fail_call(n, EIO);
    it.saver.save();
    REQUIRE(it.saver.finish());
    const auto events = it.events("tolaria.checkpoint_not_deleted");
    if (events.empty()) continue;
    reported = true;
    CHECK(events[0].attributes.at("path") == std::filesystem::path(kCheckpoints) / "epoch-0000-step-000000000");
    CHECK(events[0].attributes.at("reason").find("epoch-0000-step-000000000") != std::string::npos);
    CHECK(it.saver.is_saved());
    it.run.progress.step = 2;
    it.saver.save();
    REQUIRE(it.saver.finish());
    CHECK(list_checkpoints(it.files, kCheckpoints).size() == 1);
  }
  CHECK(reported);
}

TEST_CASE("the best epoch's state is kept as the best, one from the middle of the next epoch is not") {
  SmallRun it(epochs(1));
  it.run.progress.epoch = 2;
  it.run.progress.best = BestEpoch{2, {0.5, 0.9, {}}};
  it.run.progress.step = 12;
  it.saver.save();
  it.run.progress.step = 14;
  it.run.progress.batch = 2;
  it.saver.save();
  REQUIRE(it.saver.finish());
  CHECK(best_checkpoint(it.files, kCheckpoints, kJournal) == "epoch-0002-step-000000012");
}

TEST_CASE("a state that is not finite is never saved, and the run says which tensor it was") {
  SmallRun it(epochs(2));
  {
    const torch::NoGradGuard no_grad;
    it.model->network.parameter_groups().front().parameters.front().tensor.fill_(std::nan(""));
  }
  it.saver.save();
  REQUIRE(it.saver.finish());
  const auto failed = it.events("tolaria.checkpoint_failed");
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].attributes.at("reason").starts_with("tensor host."));
  const auto outcome = it.go();
  CHECK(outcome.kind == Kind::kRestart);  // to the beginning
  CHECK(exit_code_of(outcome) == base::ExitCode::kDiverged);
  CHECK(it.events("tolaria.step_skipped").size() == 1);
  CHECK(list_checkpoints(it.files, kCheckpoints).empty());
}

}  // namespace esper::test::saver_test
