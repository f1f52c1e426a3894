// A resumed run equals the run that was never stopped: all tensors, figures, seeds and decisions, to the last bit.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <set>

#include "run_record.h"
#include "run_room.h"

using namespace esper::test;
namespace fs = std::filesystem;

namespace {

// The newest checkpoint for each combination of stages that lies within an epoch, else the newest at all.
std::vector<std::string> one_per_stage(const fs::path& run) {
  std::map<std::string, std::string> within, at_end;
  for (const auto& name : checkpoints_of(run)) {
    const auto state = state_of(run, name);
    (state["progress"]["batch"] == 0 ? at_end : within)[stages_of(state)] = name;
  }
  within.merge(at_end);
  std::vector<std::string> names;
  for (const auto& [stages, name] : within) names.push_back(name);
  return names;
}

std::set<std::string> stages_among(const fs::path& run, const std::vector<std::string>& names) {
  std::set<std::string> found;
  for (const auto& name : names) {
    std::istringstream words(stages_of(state_of(run, name)));
    for (std::string word; words >> word;) found.insert(word);
  }
  return found;
}

// Resumes a copy of `run` from `checkpoint` on. Its telemetry begins there, so the earlier epochs are not in it.
void check_resumed(const RunRoom& room, const fs::path& run, const std::string& checkpoint, const RunRecord& expected,
                   const Words& assignments = {}) {
  const std::string stages = stages_of(state_of(run, checkpoint));
  CAPTURE(checkpoint, stages);
  const fs::path copy = room.run("from-" + checkpoint);
  copy_run_until(run, checkpoint, copy);
  const Finished finished = resume(copy, assignments);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto resumed = events_of(copy, "tolaria.resumed");
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0]["attributes"]["checkpoint"].get<std::string>().ends_with(checkpoint));
  check_equal(record_of(copy), expected, Telemetry::kMayLack);
  fs::remove_all(copy.parent_path());
}

}  // namespace

TEST_CASE("a run resumed in any stage of its seeds ends as if it had never stopped") {
  struct Case {
    Words assignments;
    std::set<std::string> stages;
  };
  const Case c =
      GENERATE(Case{{}, {"DORMANT", "GERMINATED", "TRAINING", "BLENDING", "SHADOWING", "PROBATIONARY", "FOSSILIZED"}},
               Case{culling() + Words{"host.blocks=1", "epochs=16"},
                    {"DORMANT", "GERMINATED", "TRAINING", "BLENDING", "SHADOWING", "PROBATIONARY", "CULLED",
                     "EMBARGOED", "RESETTING"}});
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("whole"), c.assignments).exit_code == 0);
  const auto whole = record_of(room.run("whole"));
  const auto names = one_per_stage(room.run("whole"));
  CHECK(stages_among(room.run("whole"), names) == c.stages);
  for (const auto& name : names) check_resumed(room, room.run("whole"), name, whole);
}

TEST_CASE("optimizers, averages, accumulation, dropout and autocast go on where they stopped") {
  const Words assignments = GENERATE(
      Words{"training.optimizer.kind=sgd", "training.optimizer.nesterov=true", "training.ema_decay=0.9"},
      Words{"training.optimizer.kind=adamw", "training.optimizer.lr=0.003", "training.optimizer.weight_decay=0.01"},
      Words{"step.accumulation=3", "training.clip_norm=1", "checkpoint.every=4 steps"},
      perceptron() + Words{"training.optimizer.kind=adamw", "training.ema_decay=0.99", "training.label_smoothing=0.1"},
      perceptron() + Words{"device.precision=bf16", "step.accumulation=3", "checkpoint.every=4 steps"},
      Words{"device.precision=bf16", "training.schedule.kind=cosine", "training.schedule.warmup_steps=20"},
      Words{"data.augment.crop_padding=1", "data.augment.flip=true"});
  CAPTURE(assignments);
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished finished = train(config, room.run("whole"), assignments);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto names = checkpoints_of(room.run("whole"));
  for (const std::size_t i : {names.size() / 4, 3 * names.size() / 5}) {
    REQUIRE(state_of(room.run("whole"), names[i])["progress"]["batch"].is_number());
    check_resumed(room, room.run("whole"), names[i], record_of(room.run("whole")));
  }
}

TEST_CASE("the loader's threads change nothing, in a resumed run neither") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("one"), {"data.workers=1"}).exit_code == 0);
  const auto one = record_of(room.run("one"));
  for (const std::string workers : {"0", "3"}) {
    REQUIRE(train(config, room.run(workers), {"data.workers=" + workers, "data.prefetch=5"}).exit_code == 0);
    check_equal(record_of(room.run(workers)), one);
  }
  check_resumed(room, room.run("one"), checkpoints_of(room.run("one"))[11], one, {"data.workers=0"});
}

TEST_CASE("a run goes on for more epochs as if it had been meant to from the start") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("long"), {"epochs=14"}).exit_code == 0);
  REQUIRE(train(config, room.run("short"), {"epochs=9"}).exit_code == 0);
  REQUIRE(resume(room.run("short"), {"epochs=14"}).exit_code == 0);
  check_equal(record_of(room.run("short")), record_of(room.run("long")));
  // Nothing is left to do, and nothing is done.
  REQUIRE(resume(room.run("short")).exit_code == 0);
  check_equal(record_of(room.run("short")), record_of(room.run("long")));
}
