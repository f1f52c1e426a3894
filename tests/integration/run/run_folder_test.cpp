// One run folder, one run; and what a resumed run may change.
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"

namespace esper::test::run_folder_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("while a run lives in a folder another one is refused, and the first goes on unharmed") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  RunningProgram first(train_command(config, run, {"epochs=100000", "checkpoint.keep_last=3"}));
  REQUIRE(wait_for_checkpoint_after("", run, first));
  for (const Words& command : {resume_command(run), train_command(config, run)}) {
    const Finished second = run_program(command);
    CHECK(second.exit_code == 75);
    CHECK_THAT(second.out, ContainsSubstring("in use by process " + std::to_string(first.process())));
  }
  const Finished beside = run_esper({"evaluate", run, "--checkpoint", "best", "--json"});
  CHECK((beside.exit_code == 0 || beside.exit_code == 5));  // 5: the run replaced it in this very moment
  CHECK_FALSE(first.has_ended());
  first.send(SIGTERM);
  CHECK(first.wait().exit_code == 143);
  CHECK(read_json(run / "summary.json")["status"] == "interrupted");
  const int epochs = read_json(run / "summary.json")["epochs"].get<int>() + 1;
  CHECK(resume(run, {"epochs=" + std::to_string(epochs)}).exit_code == 0);
}

TEST_CASE("a new run does not move into a folder that holds one, and no run is resumed where there is none") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=2"}).exit_code == 0);
  const auto before = record_of(room.run("run"));
  const Finished again = train(config, room.run("run"), {"epochs=2"});
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.out, ContainsSubstring("already contains a run") && ContainsSubstring("--resume"));
  check_equal(record_of(room.run("run")), before);

  fs::create_directories(room.path / "empty");
  for (const auto& path : {room.path / "empty", room.path / "nothing", fs::path(config)}) {
    const Finished finished = resume(path);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.out, ContainsSubstring("is not a run folder"));
  }
  CHECK(fs::is_empty(room.path / "empty"));
}

TEST_CASE("a resumed run keeps the training it began; what would change it is named") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=2"}).exit_code == 0);
  const auto before = record_of(room.run("run"));
  const Finished refused =
      resume(room.run("run"), {"training.optimizer.lr=0.1", "host.blocks=1", "telemetry.queue=500", "epochs=4"});
  CHECK(refused.exit_code == 2);
  const auto text = nlohmann::json::parse(refused.out)["error"]["text"].get<std::string>();
  CHECK_THAT(text, ContainsSubstring("training.optimizer.lr: 0.05 -> 0.1") && ContainsSubstring("host.blocks: 2 -> 1"));
  CHECK_THAT(text, !ContainsSubstring("queue: ") && !ContainsSubstring("epochs: "));
  CHECK_THAT(text, ContainsSubstring("may change"));
  check_equal(record_of(room.run("run")), before);

  REQUIRE(resume(room.run("run"), {"epochs=3", "checkpoint.keep_last=2", "data.workers=0"}).exit_code == 0);
  CHECK(checkpoints_of(room.run("run")).size() <= 3);
  CHECK_THAT(contents_of(room.run("run") / "config.yaml"), ContainsSubstring("keep_last: 2"));
}

TEST_CASE("under a cosine schedule that ends with the run, epochs are part of the training") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run"), {"epochs=2", "training.schedule.kind=cosine"}).exit_code == 0);
  const Finished refused = resume(room.run("run"), {"epochs=3"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.out, ContainsSubstring("epochs: 2 -> 3") && ContainsSubstring("cosine"));
}

TEST_CASE("a dry run tells what would be trained, warns of settings without effect and leaves nothing behind") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto runs = room.path / "runs";
  const Finished finished = run_esper({"train", "--config", config, "--dry-run", "--json", "--set",
                                       "runs_dir=" + runs.string(), "training.grad_scaler.init_scale=1024"});
  REQUIRE(finished.exit_code == 0);
  const auto plan = json_of(finished);
  CHECK(plan["train_samples"] == 240);
  CHECK(plan["steps_per_epoch"] == 8);
  CHECK(plan["parameters"].get<int>() > 0);
  CHECK_THAT(finished.err, ContainsSubstring("training.grad_scaler: has no effect with device.precision fp32"));
  CHECK_FALSE(fs::exists(runs));
  CHECK(std::distance(fs::directory_iterator(room.path), fs::directory_iterator()) == 1);
}

TEST_CASE("a dry run shows the layers, which of them are frozen, and the slots, as JSON and as text") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words words = Words{"train", "--config", config, "--dry-run"} + sets({"host.freeze=[block0.*]"});
  const auto model = json_of(run_esper(words + Words{"--json"}))["model"];
  const auto& first = model["layers"][0];
  CHECK(first["name"] == "block0.conv");
  CHECK(first["parameters"] == 4 * 1 * 3 * 3);
  CHECK(first["trainable"] == 0);
  CHECK(first["shapes"] == nlohmann::json::parse(R"([{"name": "weight", "shape": [4, 1, 3, 3]}])"));
  CHECK(model["layers"].back()["name"] == "head");
  CHECK(model["layers"].back()["trainable"] == model["layers"].back()["parameters"]);
  REQUIRE(model["slots"].size() == 2);
  CHECK(model["slots"][0]["slot"] == "r0c0");
  CHECK(model["slots"][0]["shape"] == nlohmann::json::parse("[4, 8, 8]"));
  CHECK(model["slots"][0]["seed"].is_null());

  const Finished shown = run_esper(words);
  REQUIRE(shown.exit_code == 0);
  CHECK_THAT(shown.out, ContainsSubstring("frozen") && ContainsSubstring("weight [4, 1, 3, 3]\n"));
  CHECK_THAT(shown.out, ContainsSubstring("r0c0") && ContainsSubstring("image [4, 8, 8]"));
}

TEST_CASE("a dry run of a run that is continued has the sizes of the network that it has grown, and leaves it alone") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  REQUIRE(train(config, room.run("run")).exit_code == 0);
  const auto sizes_of = [](const Words& which) {
    return json_of(run_esper(Words{"train", "--dry-run", "--json"} + which));
  };
  const auto at_start = sizes_of({"--config", config}), sizes = sizes_of({"--resume", room.run("run")});
  CHECK_FALSE(at_start.contains("checkpoint"));
  CHECK(std::ranges::any_of(sizes["model"]["slots"], [](const auto& slot) { return !slot["seed"].is_null(); }));
  CHECK(sizes["checkpoint"] == (room.run("run") / "checkpoints" / checkpoints_of(room.run("run")).back()).string());
  CHECK(sizes["parameters"] == read_json(room.run("run") / "summary.json")["parameters"]);
  CHECK(sizes["parameters"].get<int>() > at_start["parameters"].get<int>());
  CHECK(sizes["checkpoint_bytes"].get<int>() > at_start["checkpoint_bytes"].get<int>());

  const fs::path newest = sizes["checkpoint"].get<std::string>();
  fs::remove(newest / "manifest.json");
  const auto before = checkpoints_of(room.run("run"));
  const Finished shown = run_esper({"train", "--dry-run", "--json", "--resume", room.run("run")});
  REQUIRE(shown.exit_code == 0);
  CHECK_THAT(shown.err, ContainsSubstring(newest.string()));
  CHECK(json_of(shown)["checkpoint"] != newest.string());
  CHECK(checkpoints_of(room.run("run")) == before);

  for (const auto& name : before) fs::remove(room.run("run") / "checkpoints" / name / "manifest.json");
  const Finished refused = run_esper({"train", "--dry-run", "--json", "--resume", room.run("run")});
  CHECK(refused.exit_code == 5);
  const auto reasons = json_of(refused)["error"]["text"].get<std::string>();
  CHECK_THAT(reasons, ContainsSubstring("no checkpoint of " + room.run("run").string() + " can be used:\n  "));
  for (const auto& name : before) CHECK_THAT(reasons, ContainsSubstring("/checkpoints/" + name));
  CHECK(checkpoints_of(room.run("run")) == before);
  CHECK(resume(room.run("run")).exit_code == 5);
}

}  // namespace esper::test::run_folder_test
