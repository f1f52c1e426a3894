// A resumed run equals the run that was never stopped: all tensors, figures, seeds and decisions, to the last bit.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <set>

#include "base/hash.h"
#include "config/loading/load.h"
#include "config/writing/write.h"
#include "run_record.h"
#include "run_room.h"
#include "storage/manifest.h"

namespace esper::test::resume_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
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
  const auto configured = fs::last_write_time(copy / "config.yaml");
  const Finished finished = resume(copy, assignments);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK((fs::last_write_time(copy / "config.yaml") == configured) == assignments.empty());
  const auto resumed = events_of(copy, "tolaria.resumed");
  REQUIRE(resumed.size() == 1);
  CHECK(resumed[0]["attributes"]["checkpoint"].get<std::string>().ends_with(checkpoint));
  check_equal(record_of(copy), expected, Telemetry::kMayLack);
  fs::remove_all(copy.parent_path());
}

// Into each checkpoint, as an earlier version wrote it.
void write_training_hash(const fs::path& run, const esper::config::RunConfig& config, std::uint64_t hash) {
  const auto now = esper::base::hash_text(esper::config::training_hash(config)), before = esper::base::hash_text(hash);
  REQUIRE(now != before);
  for (const auto& name : checkpoints_of(run)) {
    const auto manifest = run / "checkpoints" / name / "manifest.json";
    auto contents = esper::storage::parse_manifest(contents_of(manifest));
    REQUIRE(contents);
    std::string saved = contents->fields.at("training_hash");
    REQUIRE(saved.starts_with(now + "-"));
    contents->fields["training_hash"] = saved.replace(0, now.size(), before);
    std::ofstream(manifest, std::ios::binary) << esper::storage::manifest_text(*contents);
  }
}

}  // namespace

TEST_CASE("a run resumed in any stage of its seeds ends as if it had never stopped") {
  struct Case {
    Words assignments;
    std::set<std::string> stages;
  };
  const Case c = GENERATE(
      Case{{}, {"DORMANT", "GERMINATED", "TRAINING", "BLENDING", "SHADOWING", "PROBATIONARY", "FOSSILIZED"}},
      Case{{"growth.training=blended"}, {"DORMANT", "TRAINING", "BLENDING", "SHADOWING", "PROBATIONARY", "FOSSILIZED"}},
      Case{{"growth.training=shadow"}, {"DORMANT", "TRAINING", "BLENDING", "SHADOWING", "PROBATIONARY", "FOSSILIZED"}},
      Case{culling() + Words{"host.blocks=1", "epochs=16"},
           {"DORMANT", "GERMINATED", "TRAINING", "BLENDING", "SHADOWING", "PROBATIONARY", "CULLED", "EMBARGOED",
            "RESETTING"}});
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

TEST_CASE("a run whose data was moved goes on, and other data is refused by name") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto old_place = room.write("a/digits.csv.gz", contents_of(ESPER_SOURCE_DIR "/data/digits/digits.csv.gz"));
  REQUIRE(train(config, room.run("whole"), {"epochs=4", "data.path=" + old_place}).exit_code == 0);
  const auto whole = record_of(room.run("whole"));
  const auto checkpoint = checkpoints_of(room.run("whole")).at(1);
  copy_run_until(room.run("whole"), checkpoint, room.run("moved"));
  copy_run_until(room.run("whole"), checkpoint, room.run("changed"));
  const std::string new_place = room.path / "b.csv.gz";
  fs::rename(old_place, new_place);

  const auto missing = resume(room.run("moved"));
  CHECK(missing.exit_code == 3);
  CHECK_THAT(missing.out + missing.err,
             ContainsSubstring(old_place + ": does not exist") &&
                 ContainsSubstring("esper train --resume " + room.run("moved").string() + " --set data.path=NEW"));
  CHECK_THAT(run_esper({"evaluate", room.run("moved")}).err,
             ContainsSubstring("If the data was moved: the same command with --set data.path=NEW"));
  const auto finished = resume(room.run("moved"), {"data.path=" + new_place});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  CHECK(contents_of(room.run("moved") / "config.yaml").find(new_place) != std::string::npos);
  check_equal(record_of(room.run("moved")), whole, Telemetry::kMayLack);

  const auto other = room.write("other.csv", "1,2,3,4,0\n" + std::string("5,6,7,8,1\n"));
  const auto refused = resume(room.run("changed"), {"data.path=" + other, "data.shape=[1, 2, 2]"});
  CHECK(refused.exit_code == 2);  // another shape is another training
  std::string lines;
  for (int i = 0; i < 300; ++i) {
    for (int f = 0; f < 64; ++f) lines += std::to_string((i * f) % 17) + ",";
    lines += std::to_string(i % 10) + "\n";
  }
  const auto changed = room.write("changed.csv", lines);
  const auto unlike = resume(room.run("changed"), {"data.path=" + changed});
  CHECK(unlike.exit_code == 5);
  CHECK_THAT(unlike.out + unlike.err, ContainsSubstring("the data in " + changed + " differ from its training data"));
}

TEST_CASE("a run goes on where another device is named, and a checkpoint that knows its device on that one") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=2"}).exit_code == 0);  // on the CPU
  const auto finished = resume(room.run("run"), {"epochs=3", "device.kind=auto"});
  INFO(finished.err);
  CHECK(finished.exit_code == 0);
  CHECK_THAT(contents_of(room.run("run") / "config.yaml"), ContainsSubstring("kind: \"auto\""));

  REQUIRE(train(config, room.run("old"), {"epochs=2"}).exit_code == 0);
  const auto run_config = esper::config::load_run_config(room.run("old") / "config.yaml");
  write_training_hash(room.run("old"), run_config, esper::config::earlier_training_hashes(run_config)[0]);
  const auto refused = resume(room.run("old"), {"epochs=3", "device.kind=auto"});
  CHECK(refused.exit_code == 5);
  CHECK_THAT(refused.out + refused.err, ContainsSubstring("and the device"));
  CHECK(resume(room.run("old"), {"epochs=3"}).exit_code == 0);
  CHECK(resume(room.run("old"), {"epochs=4", "device.kind=auto"}).exit_code == 0);
}

TEST_CASE("a checkpoint that was saved with its data's path in the hash is taken where the path is the same") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("old"), {"epochs=2"}).exit_code == 0);
  const auto run_config = esper::config::load_run_config(room.run("old") / "config.yaml");
  write_training_hash(room.run("old"), run_config, esper::config::earlier_training_hashes(run_config)[1]);
  fs::create_directories(room.run("moved").parent_path());
  fs::copy(room.run("old"), room.run("moved"), fs::copy_options::recursive);
  const auto elsewhere = room.write("moved.csv.gz", contents_of(ESPER_SOURCE_DIR "/data/digits/digits.csv.gz"));
  const auto refused = resume(room.run("moved"), {"epochs=3", "data.path=" + elsewhere});
  CHECK(refused.exit_code == 5);
  CHECK_THAT(refused.out + refused.err, ContainsSubstring("another configuration") &&
                                            ContainsSubstring("Restore the data") &&
                                            ContainsSubstring("resume once with them"));
  const auto finished = resume(room.run("old"), {"epochs=3"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  CHECK(events_of(room.run("old"), "tolaria.resumed").size() == 1);
}

// Without what a forecast says of the epochs that are left: they were fewer when the short run decided.
RunRecord without_forecasts(RunRecord record) {
  for (auto& [epoch, decision] : record.decisions) {
    const auto begin = decision.find("; forecast: ");
    if (begin != std::string::npos) decision.erase(begin);
  }
  return record;
}

TEST_CASE("a run goes on for more epochs as if it had been meant to from the start") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("long"), {"epochs=14"}).exit_code == 0);
  REQUIRE(train(config, room.run("short"), {"epochs=9"}).exit_code == 0);
  REQUIRE(resume(room.run("short"), {"epochs=14"}).exit_code == 0);
  const auto expected = without_forecasts(record_of(room.run("long")));
  check_equal(without_forecasts(record_of(room.run("short"))), expected);
  // Nothing is left to do, and nothing is done.
  const Finished over = resume(room.run("short"));
  REQUIRE(over.exit_code == 0);
  CHECK_THAT(over.err, ContainsSubstring("no epochs left to train: the run is at epoch 14 of 14; add epochs: "));
  check_equal(without_forecasts(record_of(room.run("short"))), expected);
  const Finished past = resume(room.run("short"), {"epochs=12"});
  CHECK(past.exit_code == 2);
  CHECK_THAT(json_of(past)["error"]["text"].get<std::string>(),
             ContainsSubstring("epochs: must be at least 14, the epoch that " + room.run("short").string() +
                               " has reached, but is 12") &&
                 ContainsSubstring("esper fork"));
  check_equal(without_forecasts(record_of(room.run("short"))), expected);
  CHECK(resume(room.run("short"), {"epochs=14"}).exit_code == 0);
}

TEST_CASE("a run that is resumed without an epoch left says that a seed which grows stays unfinished") {
  const RunRoom room;
  const auto whole = room.run("whole"), cut = room.run("cut");
  REQUIRE(
      train(room.write("small.yaml", growing_config()), whole,
            {"policy.kind=schedule", "policy.schedule=[\"2:r0c0=conv_light\"]", "growth.gates.min_training_epochs=50",
             "policy.heuristic.prune_after_epochs=50", "epochs=6", "checkpoint.every=1 epoch"})
          .exit_code == 0);
  copy_run_until(whole, checkpoints_of(whole).at(3), cut);
  const Finished over = resume(cut, {"epochs=4"});
  CHECK(over.exit_code == 0);
  CHECK_THAT(over.err, ContainsSubstring("no epochs left to train: the run is at epoch 4 of 4; add epochs: ") &&
                           ContainsSubstring("its unfinished seeds stay as they are"));
  const Finished more = resume(cut, {"epochs=5"});
  CHECK(more.exit_code == 0);
  CHECK(more.err.find("no epochs left") == std::string::npos);
}

TEST_CASE(
    "a run that is resumed with other kernels says that its last bits may differ, and with the same ones nothing") {
  const RunRoom room;
  const auto run = room.run("run");
  const auto config = room.write("small.yaml", growing_config());
  const std::vector<std::string> default_kernels{"ATEN_CPU_CAPABILITY=default"};
  const Words begin{"train", "--config", config, "--run-dir", run, "--set", "epochs=4"};
  REQUIRE(run_esper(begin, default_kernels).exit_code == 0);
  REQUIRE(run_esper({"train", "--resume", run, "--set", "epochs=6"}, default_kernels).exit_code == 0);
  CHECK(events_of(run, "tolaria.numerics_changed").empty());
  REQUIRE(run_esper({"train", "--resume", run, "--set", "epochs=8"}).exit_code == 0);
  const auto computed_on = state_of(run, checkpoints_of(run).back())["computed_on"].get<std::string>();
  if (computed_on.find("DEFAULT") != std::string::npos) SKIP("this processor has one kind of kernels only");
  const auto changed = events_of(run, "tolaria.numerics_changed");
  REQUIRE(changed.size() == 1);
  CHECK_THAT(changed[0]["attributes"]["before"].get<std::string>(), ContainsSubstring("DEFAULT"));
  CHECK_THAT(changed[0]["attributes"]["now"].get<std::string>(), !ContainsSubstring("DEFAULT"));
}

TEST_CASE("a run of an earlier version is measured and continued") {
  const RunRoom room;
  const fs::path run = room.run("earlier");
  fs::create_directories(run.parent_path());
  fs::copy(ESPER_SOURCE_DIR "/tests/integration/run/earlier/0.1", run, fs::copy_options::recursive);
  const Finished measured = run_esper({"evaluate", run, "--json"});
  INFO(measured.err);
  REQUIRE(measured.exit_code == 0);
  CHECK_THAT(json_of(measured)["validation"]["loss"].get<double>(), WithinAbs(2.21443, 1e-3));
  const Finished finished = resume(run);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(events_of(run, "tolaria.checkpoint_refused").empty());
  CHECK(events_of(run, "tolaria.resumed").size() == 1);
  const auto summary = read_json(run / "summary.json");
  CHECK(summary["epochs"] == 11);
  CHECK(summary["steps"] == 88);
  REQUIRE(summary["seeds"].size() == 1);
  CHECK(summary["seeds"][0]["stage"] == "FOSSILIZED");
  CHECK_THAT(summary["validation"]["loss"].get<double>(), WithinAbs(1.69529, 0.05));  // other kernels, other roundings
}

}  // namespace esper::test::resume_test
