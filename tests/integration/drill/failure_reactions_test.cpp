// What a run does about failed steps and epochs is part of the run: killed and resumed, it ends with the same bits.
#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

#include "integration/run/run_record.h"
#include "integration/run/run_room.h"

namespace esper::test::failure_reactions_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

const Words kNoGrowth{"policy.kind=none", "growth.enabled=false"};

Words training(const RunRoom& room, const fs::path& run, const Words& assignments) {
  return Words{binary(), "train", "--config", room.write("small.yaml", growing_config()), "--run-dir", run} +
         sets(assignments);
}

Finished train_with(const RunRoom& room, const fs::path& run, const Words& assignments, const std::string& faults) {
  return run_program(training(room, run, assignments), {"ESPER_FAULTS=" + faults});
}

Finished resume_with(const fs::path& run, const std::string& faults) {
  return run_esper({"train", "--resume", run}, {"ESPER_FAULTS=" + faults});
}

void require_done(const Finished& finished) {
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
}

}  // namespace

TEST_CASE("a step that went wrong for a reason outside of the run is passed over by the processes that follow, too") {
  const RunRoom room;
  const Words rare = kNoGrowth + Words{"checkpoint.every=16 steps"};
  require_done(train_with(room, room.run("whole"), rare, "tolaria.nan_input@37"));
  // 36 steps are trained again after the 37th of the process; then it is killed before its next checkpoint.
  const auto killed = train_with(room, room.run("killed"), rare, "tolaria.nan_input@37,tolaria.training.kill@44");
  REQUIRE(killed.exit_code == 128 + 9);
  REQUIRE(events_of(room.run("killed"), "tolaria.step_skipped").size() == 1);
  require_done(resume_with(room.run("killed"), ""));
  CHECK(events_of(room.run("killed"), "tolaria.step_skipped").size() == 1);  // not met again
  check_equal(record_of(room.run("killed")), record_of(room.run("whole")), Telemetry::kMayLack);
}

TEST_CASE("a run that cannot be taken up again on its way back says so in its telemetry, and can be resumed") {
  const RunRoom room;
  // Its policy can be started once, until somebody takes the mark away. The first bad epoch is undone with its seed.
  const auto mark = room.path / "started";
  const auto script = room.write("once.py", "import os, sys\nif os.path.exists('" + mark.string() +
                                                "'): raise SystemExit('a second start')\nopen('" + mark.string() +
                                                "', 'w').close()\nsys.path.insert(0, '" ESPER_SOURCE_DIR
                                                "/configs/policy')\nimport controller\ncontroller.main()\n");
  const Words program{"policy.kind=process", "policy.command=[python3, -B, " + script + "]", "growth.max_seeds=1"};
  const auto run = room.run("run");
  const auto lost = train_with(room, run, program, "tolaria.validation_loss@12x4");
  INFO(lost.err);
  REQUIRE(lost.exit_code == 7);
  const auto ends = events_of(run, "tolaria.run_finished");
  REQUIRE(ends.size() == 1);
  const auto& attributes = ends.front()["attributes"];
  CHECK(attributes["status"] == "failed");
  CHECK(attributes["exit_code"] == "7");
  CHECK(attributes["epochs"] == std::to_string(std::stoi(attributes["steps"].get<std::string>()) / 8 - 1));
  CHECK_THAT(attributes["reason"].get<std::string>(), ContainsSubstring("its process: exit status 1"));
  REQUIRE(fs::remove(mark));
  require_done(resume_with(run, ""));
  CHECK(events_of(run, "tolaria.learning_rate_lowered").size() == 1);
}

// Both wait ten seconds and more for a thread that never ends: side by side.
TEST_CASE("a run whose data hangs ends and says so: before its first step, and on its way back to a checkpoint") {
  const RunRoom room;
  const Words first{"safety.save_deadline=1s", "safety.data_deadline=1s"};
  const Words back = kNoGrowth + Words{"safety.save_deadline=1s", "data.prefetch=4"};
  RunningProgram from_the_first_batch_on(training(room, room.run("first"), first), {"ESPER_FAULTS=data.hangs@1"});
  const auto on_its_way_back = train_with(room, room.run("back"), back, "tolaria.step_memory@37,data.hangs@77");
  const auto at_its_start = from_the_first_batch_on.wait();
  CHECK(at_its_start.exit_code == 3);
  CHECK_THAT(at_its_start.err, ContainsSubstring("was not ready within 1000 ms"));
  CHECK_THAT(at_its_start.err, ContainsSubstring("does not end; exiting without it"));

  INFO(on_its_way_back.err);
  REQUIRE(on_its_way_back.exit_code == 75);
  CHECK_THAT(on_its_way_back.err, ContainsSubstring("cannot go back"));
  CHECK_THAT(on_its_way_back.err, ContainsSubstring("does not end; exiting without it"));
  require_done(resume_with(room.run("back"), ""));
}

TEST_CASE("a run that went back to smaller microbatches keeps them when it is resumed") {
  const RunRoom room;
  require_done(train_with(room, room.run("whole"), kNoGrowth, "tolaria.step_memory@37"));
  const auto stopped =
      train_with(room, room.run("stopped"), kNoGrowth, "tolaria.step_memory@37,tolaria.training.term@70");
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 143);
  require_done(resume_with(room.run("stopped"), ""));
  check_equal(record_of(room.run("stopped")), record_of(room.run("whole")), Telemetry::kMayLack);
  const auto split = events_of(room.run("whole"), "tolaria.batches_split");
  REQUIRE(split.size() == 1);
  CHECK(split[0]["attributes"]["parts"] == "2");
}

TEST_CASE("memory that is short in each size of microbatch ends the run with exit status 6 and the way out") {
  const RunRoom room;
  const auto finished = train_with(room, room.run("small"), kNoGrowth, "tolaria.step_memory@20x*");
  CHECK(finished.exit_code == 6);
  CHECK_THAT(finished.err, ContainsSubstring("lower data.batch_size"));
  CHECK(events_of(room.run("small"), "tolaria.batches_split").size() >= 2);
}

// ESPER_ALLOCATIONS: how many of them, spread over the whole run.
TEST_CASE("whichever allocation fails, the run goes on, or ends with exit status 6 and can be resumed") {
  const RunRoom room;
  const char* wanted = std::getenv("ESPER_ALLOCATIONS");
  const int count = wanted == nullptr ? 12 : std::stoi(wanted);
  constexpr int kAllocations = 12'000;  // of a whole run, and more
  const Words eager{"step.lane=eager", "checkpoint.every=7 steps"};
  require_done(train_with(room, room.run("whole"), eager, ""));
  int ended = 0, went_on = 0, not_reached = 0;
  for (int i = 0; i < count; ++i) {
    const int nth = 1 + i * kAllocations / count + i;
    CAPTURE(nth);
    const auto run = room.run("fails-" + std::to_string(nth));
    const auto finished = train_with(room, run, eager, "device.allocation@" + std::to_string(nth));
    INFO(finished.out << finished.err);
    if (finished.err.find("never fired") != std::string::npos) {
      ++not_reached;
      continue;
    }
    REQUIRE((finished.exit_code == 0 || finished.exit_code == 6));
    if (finished.exit_code == 0) {
      ++went_on;
      CHECK(read_json(run / "summary.json")["epochs"] == read_json(room.run("whole") / "summary.json")["epochs"]);
    } else if (++ended; fs::exists(run)) {
      CHECK_THAT(finished.err, ContainsSubstring("out of memory"));
      require_done(resume_with(run, ""));
    }
  }
  std::cout << fmt::format("of {} failing allocations {} ended the run, {} did not; {} were not reached\n", count,
                           ended, went_on, not_reached);
  CHECK(ended > 0);
  CHECK(went_on > 0);
}

TEST_CASE("a run that halts instead of going back does so when it is resumed") {
  const RunRoom room;
  const std::string diverges = "tolaria.validation_loss@12x3";
  require_done(train_with(room, room.run("whole"), kNoGrowth, diverges));
  REQUIRE(events_of(room.run("whole"), "tolaria.learning_rate_lowered").size() == 1);
  const Words halting = kNoGrowth + Words{"safety.emergency.failed_epochs=1"};
  REQUIRE(train_with(room, room.run("halted"), halting, diverges).exit_code == 75);
  require_done(resume_with(room.run("halted"), ""));
  // Telemetry tells of the epochs that are trained again twice; the state is one.
  const std::string last = checkpoints_of(room.run("whole")).back();
  REQUIRE(checkpoints_of(room.run("halted")).back() == last);
  const auto tensors = [&](const char* name) {
    return contents_of(room.run(name) / "checkpoints" / last / "state.safetensors");
  };
  CHECK((tensors("halted") == tensors("whole")));
  const auto safety = [&](const char* name) { return state_of(room.run(name), last)["progress"]["safety"]; };
  CHECK(safety("halted") == safety("whole"));
}

// ESPER_CLEAN_RUNS: how many.
TEST_CASE("clean runs raise no alarm") {
  const RunRoom room;
  const char* wanted = std::getenv("ESPER_CLEAN_RUNS");
  const int runs = wanted == nullptr ? 2 : std::stoi(wanted);
  for (int seed = 1; seed <= runs; ++seed) {
    CAPTURE(seed);
    const auto run = room.run("clean-" + std::to_string(seed));
    require_done(train_with(room, run, {"seed=" + std::to_string(seed)}, ""));
    for (const char* alarm :
         {"tolaria.loss_suspect", "tolaria.rollback.restored", "tolaria.step_skipped", "tolaria.learning_rate_lowered",
          "tolaria.batches_split", "tolaria.stalled", "tolaria.emergency.escalated"}) {
      CAPTURE(alarm);
      CHECK(events_of(run, alarm).empty());
    }
  }
}

TEST_CASE("a run in bf16 or fp16 goes on in fp32, and stays there when it is resumed") {
  const std::string precision = GENERATE("bf16", "fp16");
  CAPTURE(precision);
  const RunRoom room;
  const Words strict =
      kNoGrowth + Words{"device.precision=" + precision, "safety.most_skipped_steps=0", "safety.most_rate_cuts=1"};
  // A lower rate, then fp32 from the beginning of the second epoch on.
  const auto stopped = train_with(room, room.run("raised"), strict, "tolaria.nan_input@10x2,tolaria.training.term@60");
  INFO(stopped.err);
  REQUIRE(stopped.exit_code == 143);
  CHECK(events_of(room.run("raised"), "tolaria.full_precision").size() == 1);
  require_done(resume_with(room.run("raised"), ""));
  const auto enabled = values_of(room.run("raised"), "tolaria.train.amp_enabled");
  REQUIRE(enabled.size() >= 24);
  CHECK(enabled.front() == 1);  // the first epoch ended well
  CHECK(std::ranges::count(enabled, 1.0) == 1);
  CHECK_THAT(contents_of(room.run("raised") / "config.yaml"), ContainsSubstring("precision: " + precision));
  const auto measured = json_of(run_esper({"evaluate", room.run("raised").string(), "--json"}))["validation"];
  CHECK(measured["loss"] == read_json(room.run("raised") / "summary.json")["validation"]["loss"]);
}

TEST_CASE("a run that goes back to its beginning, in another precision, can be killed there and is resumed") {
  const std::string precision = GENERATE("bf16", "fp16");
  const RunRoom room;
  const Words strict = kNoGrowth + Words{"device.precision=" + precision, "safety.most_skipped_steps=0",
                                         "safety.most_rate_cuts=1", "checkpoint.every=3 steps"};
  // In the sixth step, and in the first once it is trained again: then fp32 from the first step on.
  const std::string twice = "tolaria.nan_input@6x2";
  require_done(train_with(room, room.run("whole"), strict, twice));
  const auto killed = train_with(room, room.run("killed"), strict, twice + ",tolaria.training.kill@9");
  REQUIRE(killed.exit_code == 128 + 9);
  REQUIRE(events_of(room.run("killed"), "tolaria.full_precision").size() == 1);
  require_done(resume_with(room.run("killed"), ""));
  check_equal(record_of(room.run("killed")), record_of(room.run("whole")), Telemetry::kMayLack);
}

TEST_CASE("a run in fp16 whose gradients overflow is resumed with the same bits, whatever it does about them") {
  const RunRoom room;
  const auto train = [&](const std::string& name, const std::string& faults) {
    const Words wild = kNoGrowth + Words{"device.precision=fp16", "training.optimizer.lr=30", "data.batch_size=8",
                                         "epochs=6", "step.lane=replay"};
    return run_program(train_command(ESPER_SOURCE_DIR "/configs/drill/run/digits_quick.yaml", room.run(name), wild),
                       {"ESPER_FAULTS=" + faults});
  };
  require_done(train("whole", ""));
  CHECK(values_of(room.run("whole"), "tolaria.scaler.skipped_steps_total").back() > 10);
  const auto hit = GENERATE(15, 30, 200);  // before it has reacted, while it does, and after
  CAPTURE(hit);
  REQUIRE(train("killed", "tolaria.training.kill@" + std::to_string(hit)).exit_code == 128 + 9);
  require_done(resume_with(room.run("killed"), ""));
  check_equal(record_of(room.run("killed")), record_of(room.run("whole")), Telemetry::kMayLack);
}

TEST_CASE("with fp16 a batch that holds NaN is named and passed over, too") {
  const RunRoom room;
  require_done(train_with(room, room.run("half"), kNoGrowth + Words{"device.precision=fp16"}, "tolaria.nan_input@37"));
  const auto skipped = events_of(room.run("half"), "tolaria.step_skipped");
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0]["attributes"]["reason"] == "batch.0.inputs is not finite");
}

TEST_CASE(
    "while a seed grows, a step that is not finite is noticed at once, and leaves a bundle; the epoch is undone") {
  const RunRoom room;
  const auto run = room.run("run");
  constexpr int kBad = 44;  // the fourth step of the sixth epoch: of eight
  const std::string fault = fmt::format("tolaria.nan_input@{}", kBad);
  const Words saves{"checkpoint.every=1 steps", "checkpoint.keep_last=1000"};
  require_done(train_with(room, run, saves, fault));
  const auto restored = events_of(run, "tolaria.rollback.restored");
  REQUIRE(restored.size() == 1);
  CHECK(restored[0]["attributes"]["reason"] == "batch.0.inputs is not finite");
  CHECK(events_of(run, "seed_removed").size() >= 1);
  std::vector<int> passed_over;
  const auto shown = json_of(run_esper({"blackbox", run, "--json"}));
  for (const auto& record : shown["records"]) {
    if (record["kind"] == "step" && record["passed_over"] == true) passed_over.push_back(record["step"]);
  }
  CHECK(passed_over == std::vector<int>{kBad, kBad + 1, kBad + 2, kBad + 3});  // counted from 0

  const auto cut = events_of(run, "tolaria.bundle_cut");
  REQUIRE(cut.size() == 1);
  const fs::path bundle = cut[0]["attributes"]["path"].get<std::string>();
  const auto before = run / "checkpoints" / fmt::format("epoch-0005-step-{:09}", kBad - 1);
  CHECK(contents_of(bundle / "state.safetensors") == contents_of(before / "state.safetensors"));
  const auto again = run_esper({"repro", bundle, "--json"});
  INFO(again.out << again.err);
  CHECK(again.exit_code == 0);
  CHECK(json_of(again)["first"]["bad_input"] == "batch.0.inputs");

  // Killed, or asked to end, while it trains for the bundle, or before.
  const auto whole = room.run("whole"), killed = room.run("killed"), stopped = room.run("stopped");
  const Words rare{"checkpoint.every=1 epochs"};
  require_done(train_with(room, whole, rare, fault));
  REQUIRE(train_with(room, killed, rare, fault + ",tolaria.training.kill@51").exit_code == 128 + 9);
  require_done(resume_with(killed, "tolaria.nan_input@4"));
  check_equal(record_of(killed), record_of(whole), Telemetry::kMayLack);
  // Ended within the epoch it is saved as it began, so the bad step is the fourth of the next process.
  const auto [signal, then] =
      GENERATE(table<std::string, std::string>({{"tolaria.training.term@46", "tolaria.nan_input@4"},
                                                {"tolaria.validating.term@6", "tolaria.nan_input@4"},
                                                {"tolaria.training.term@51", "tolaria.nan_input@4"}}));
  CAPTURE(signal);
  REQUIRE(train_with(room, stopped, rare, fault + "," + signal).exit_code == 128 + 15);
  require_done(resume_with(stopped, then));
  check_equal(record_of(stopped), record_of(whole), Telemetry::kMayLack);
}

TEST_CASE("while a seed grows, an epoch whose first step is not finite is undone like any other") {
  const RunRoom room;
  require_done(train_with(room, room.run("run"), {}, "tolaria.nan_input@41"));
  CHECK(events_of(room.run("run"), "tolaria.bundle_cut").size() == 1);
  CHECK(events_of(room.run("run"), "tolaria.rollback.restored").size() == 1);
  CHECK(events_of(room.run("run"), "tolaria.learning_rate_lowered").empty());
}

TEST_CASE("a run that is resumed within an epoch that its seeds spoil undoes the whole epoch") {
  const RunRoom room;
  require_done(train_with(room, room.run("whole"), {}, "tolaria.validation_loss@9"));
  const auto restored = events_of(room.run("whole"), "tolaria.rollback.restored");
  REQUIRE(restored.size() == 1);
  REQUIRE(restored[0]["attributes"]["tier"] == "memory");

  // In the sixth of the eight steps of epoch 9.
  REQUIRE(train_with(room, room.run("stopped"), {}, "tolaria.training.term@70").exit_code == 143);
  require_done(resume_with(room.run("stopped"), "tolaria.validation_loss@1x2"));
  const auto again = events_of(room.run("stopped"), "tolaria.rollback.restored");
  REQUIRE(again.size() == 2);
  CHECK(again[0]["attributes"]["tier"] == "checkpoint");
  CHECK(again[1]["attributes"]["tier"] == "memory");
  check_equal(record_of(room.run("stopped")), record_of(room.run("whole")), Telemetry::kMayLack);
}

}  // namespace esper::test::failure_reactions_test
