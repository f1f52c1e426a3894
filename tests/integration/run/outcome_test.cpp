// How runs end, and what summary.json says of it.
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <utility>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::outcome_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// The number of float32 elements in a state.safetensors, and of those that are not finite.
struct FloatCount {
  std::size_t all = 0, not_finite = 0;
};
FloatCount count_floats(const fs::path& file) {
  const std::string bytes = contents_of(file);
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  const json header = json::parse(bytes.substr(8, header_size));
  FloatCount count;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__" || tensor["dtype"] != "F32") continue;
    const std::size_t end = tensor["data_offsets"][1];
    for (std::size_t at = tensor["data_offsets"][0]; at < end; at += sizeof(float)) {
      float value = 0;
      std::memcpy(&value, bytes.data() + 8 + header_size + at, sizeof value);
      ++count.all;
      count.not_finite += std::isfinite(value) ? 0 : 1;
    }
  }
  return count;
}

// Softmax saturates rather than overflows under a merely large rate; decay then makes parameters grow without end.
Words diverging() {
  return {"training.optimizer.lr=1000",
          "training.optimizer.weight_decay=10",
          "growth.enabled=false",
          "checkpoint.every=1 steps",
          "host.kind=mlp",
          "data.shape=[64]",
          "growth.blueprints=[]"};
}

// A run whose telemetry and journal fit below the limit (in KiB), and no checkpoint of its 64 x 512 weights.
Words without_room_to_save(const std::string& config, const fs::path& run, const std::string& epochs) {
  return Words{"/bin/bash", "-c", "ulimit -f 96; exec \"$0\" \"$@\""} +
         train_command(config, run,
                       {epochs, "growth.enabled=false", "host.kind=mlp", "host.hidden=[512]", "data.shape=[64]",
                        "growth.blueprints=[]", "step.lane=eager"});
}

}  // namespace

TEST_CASE("a run whose data cannot be read any more names its folder, and its summary says that it failed") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const fs::path run = room.run("run");
  const Finished failed = run_program(train_command(config, run), {"ESPER_FAULTS=data.batch@20"});
  INFO(failed.err);
  CHECK(failed.exit_code == 3);
  CHECK_THAT(failed.err, ContainsSubstring("fault point data.batch\nrun folder: " + run.string()));
  const json summary = json::parse(contents_of(run / "summary.json"));
  CHECK(summary["status"] == "failed");
  CHECK(summary["exit_code"] == 3);
  CHECK_THAT(summary["reason"].get<std::string>(), ContainsSubstring("data.batch"));
  CHECK(summary["checkpoints"].size() == checkpoints_of(run).size());
  CHECK(resume(run).exit_code == 0);
  CHECK(json::parse(contents_of(run / "summary.json"))["status"] == "done");
}

TEST_CASE("a run that diverges exits 4, says so, and keeps its last good state") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished finished = train(config, room.run("run"), diverging());
  INFO(finished.err);
  CHECK(finished.exit_code == 4);
  const json summary = json_of(finished);
  CHECK(summary["status"] == "diverged");
  CHECK(summary["exit_code"] == 4);
  CHECK_THAT(finished.err, ContainsSubstring("esper: ") && ContainsSubstring(" is not finite"));
  CHECK_THAT(summary["reason"].get<std::string>(), ContainsSubstring("not finite") && ContainsSubstring("lr"));
  CHECK(events_of(room.run("run"), "tolaria.diverged").size() == 1);
  const auto names = checkpoints_of(room.run("run"));
  REQUIRE_FALSE(names.empty());
  for (const auto& name : names) {
    const auto count = count_floats(room.run("run") / "checkpoints" / name / "state.safetensors");
    CHECK(count.all > 1000);
    CHECK(count.not_finite == 0);
  }
}

TEST_CASE("a run whose state overflows while its losses are still finite has diverged") {
  const RunRoom room;
  const Finished finished = train(ESPER_SOURCE_DIR "/configs/run/digits_static.yaml", room.run("run"),
                                  {"epochs=5", "training.optimizer.lr=70"});
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 4);
  CHECK_THAT(json_of(finished)["reason"].get<std::string>(),
             ContainsSubstring("not finite") && ContainsSubstring("lr"));
}

TEST_CASE("at the file size limit saving pauses, training goes on, and the run exits as on a full disk") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished finished = run_program(without_room_to_save(config, room.run("run"), "epochs=3"));
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 6);
  CHECK_THAT(finished.out, ContainsSubstring("the final state could not be saved"));
  CHECK(json_of(finished)["epochs"] == 3);
  CHECK(checkpoints_of(room.run("run")).empty());
  const auto paused = events_of(room.run("run"), "tolaria.save_paused");
  REQUIRE(paused.size() == 1);
  CHECK_THAT(paused[0]["attributes"]["reason"].get<std::string>(), ContainsSubstring("File too large"));
}

TEST_CASE("a signal does not hide that the state could not be saved") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  RunningProgram program(without_room_to_save(config, run, "epochs=100000"));
  REQUIRE(wait_for_first_epoch(run, program));
  program.send(SIGTERM);
  const Finished finished = program.wait();
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 6);
  CHECK_THAT(finished.err, ContainsSubstring("the state could not be saved") &&
                               ContainsSubstring("esper train --resume continues from the beginning"));
  CHECK(json_of(finished)["status"] == "not_saved");
}

TEST_CASE("a signal between a run's folder and its training leaves a whole one, names it, and it can be trained") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  for (const auto& [point, status] :
       {std::pair{"creating.term", 143}, std::pair{"creating.int", 130}, std::pair{"starting.term", 143}}) {
    CAPTURE(point);
    const auto run = room.run(point);
    const Finished stopped =
        run_program(train_command(config, run, {"epochs=2"}), {std::string("ESPER_FAULTS=tolaria.") + point + "@1"});
    CHECK(stopped.exit_code == status);
    CHECK_THAT(stopped.err,
               ContainsSubstring("before training began; to train the run: esper train --resume " + run.string()));
    CHECK(json_of(stopped)["error"]["exit_code"] == status);
    REQUIRE(resume(run).exit_code == 0);
    CHECK(read_json(run / "summary.json")["epochs"] == 2);
  }
}

TEST_CASE("a run that diverges exits 4 also where nobody reads its result") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words unread = {"/bin/bash", "-c", "\"$0\" \"$@\" | true; exit ${PIPESTATUS[0]}"};
  const Finished finished = run_program(unread + train_command(config, room.run("run"), diverging()));
  INFO(finished.err);
  CHECK(finished.exit_code == 4);
  CHECK_THAT(finished.err, ContainsSubstring(" is not finite"));
}

TEST_CASE("summary.json and train --json hold the same, with every field") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished finished = train(config, room.run("run"));
  REQUIRE(finished.exit_code == 0);
  const json summary = read_json(room.run("run") / "summary.json");
  CHECK(json_of(finished) == summary);
  CHECK(summary["run_dir"] == room.run("run").string());
  CHECK(summary["status"] == "done");
  CHECK(summary["exit_code"] == 0);
  CHECK(summary["epochs"] == 24);
  CHECK(summary["steps"] == 24 * 8);
  CHECK(summary["wall_s"].get<double>() > 0);
  for (const char* part : {"train", "validation", "best"}) {
    CAPTURE(part);
    CHECK(summary[part]["loss"].get<double>() > 0);
    CHECK(summary[part]["accuracy"].get<double>() > 0);
    CHECK(summary[part]["accuracy"].get<double>() <= 1);
  }
  CHECK(summary["best"]["epoch"].get<int>() > 0);
  REQUIRE(summary["seeds"].size() == 2);
  for (const auto& seed : summary["seeds"]) {
    CHECK(seed["seed_id"].get<std::string>().starts_with("seed-"));
    CHECK(seed["slot"].is_string());
    CHECK(seed["blueprint"].get<std::string>().starts_with("conv_"));
    CHECK(seed["stage"] == "FOSSILIZED");
    CHECK(seed["alpha"] == 1);
    CHECK(seed["params"].get<int>() > 0);
    CHECK(seed["contribution"].is_number());
  }
  const auto names = checkpoints_of(room.run("run"));
  REQUIRE(summary["checkpoints"].size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& entry = summary["checkpoints"][i];
    CHECK(entry["path"] == (room.run("run") / "checkpoints" / names[i]).string());
    const auto progress = state_of(room.run("run"), names[i])["progress"];
    CHECK(entry["epoch"] == progress["epoch"]);
    CHECK(entry["step"] == progress["step"]);
  }
}

}  // namespace esper::test::outcome_test
