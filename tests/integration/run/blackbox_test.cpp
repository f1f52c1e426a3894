// The black box of a run, and the bundles of its steps that went wrong.
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <set>

#include "run_record.h"
#include "run_room.h"
#include "storage/checksum.h"
#include "storage/manifest.h"

namespace esper::test::blackbox_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// 8 steps an epoch.
Words fixed_network() { return {"growth.enabled=false", "policy.kind=none", "checkpoint.every=1 steps"}; }

Finished train_with(const RunRoom& room, const Words& assignments, const std::string& faults) {
  const auto config = room.write("small.yaml", growing_config());
  return run_program(train_command(config, room.run("run"), fixed_network() + assignments), {"ESPER_FAULTS=" + faults});
}

json blackbox_of(const fs::path& run, const Words& more = {}) {
  const Finished finished = run_esper(Words{"blackbox", run.string(), "--json"} + more);
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return json_of(finished);
}

std::vector<json> steps_of(const json& blackbox) {
  std::vector<json> steps;
  for (const auto& record : blackbox["records"]) {
    if (record["kind"] == "step") steps.push_back(record);
  }
  return steps;
}

bool has_event(const json& blackbox, const std::string& beginning) {
  return std::ranges::any_of(blackbox["records"], [&](const json& record) {
    return record["kind"] == "event" && record["text"].get<std::string>().starts_with(beginning);
  });
}

std::vector<fs::path> bundles_of(const fs::path& run) {
  std::set<fs::path> bundles;
  if (fs::exists(run / "bundles")) {
    for (const auto& entry : fs::directory_iterator(run / "bundles")) bundles.insert(entry.path());
  }
  return {bundles.begin(), bundles.end()};
}

Finished repro(const fs::path& bundle) { return run_esper({"repro", bundle.string(), "--json"}); }

// Replaces a file of a published folder, with the hash that belongs to it.
void replace_file(const fs::path& folder, const std::string& name, const std::string& contents) {
  auto manifest = storage::parse_manifest(contents_of(folder / storage::kManifestName)).value();
  for (auto& file : manifest.files) {
    if (file.name == name) file = {name, contents.size(), storage::hex64(storage::hash64(storage::bytes_of(contents)))};
  }
  std::ofstream(folder / name, std::ios::binary) << contents;
  std::ofstream(folder / storage::kManifestName, std::ios::binary) << storage::manifest_text(manifest);
}

}  // namespace

TEST_CASE("a step whose batch is not finite leaves a bundle, and its reproduction names the batch") {
  const RunRoom room;
  const Finished finished = train_with(room, {"epochs=3"}, "tolaria.nan_input@11");
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto run = room.run("run");
  const auto cut = events_of(run, "tolaria.bundle_cut");
  REQUIRE(cut.size() == 1);
  CHECK(cut[0]["attributes"]["step"] == "10");
  CHECK(cut[0]["attributes"]["reason"] == "batch.0.inputs is not finite");
  const fs::path bundle = cut[0]["attributes"]["path"].get<std::string>();
  CHECK(bundles_of(run) == std::vector{bundle});
  // Its state is that from before the step.
  const std::string before = "epoch-0001-step-000000010";
  CHECK(contents_of(bundle / "state.safetensors") == contents_of(run / "checkpoints" / before / "state.safetensors"));

  const Finished again = repro(bundle);
  INFO(again.out << again.err);
  CHECK(again.exit_code == 0);
  const json found = json_of(again);
  CHECK(found["reproduced"] == true);
  CHECK(found["step"] == 10);
  CHECK(found["epoch"] == 2);
  CHECK(found["first"]["bad_input"] == "batch.0.inputs");
  const Finished text = run_esper({"repro", bundle.string()});
  CHECK_THAT(text.out, ContainsSubstring("batch.0.inputs was not finite before the step: the data are wrong"));

  const json box = blackbox_of(run);
  CHECK(has_event(box, "tolaria.step_skipped reason=batch.0.inputs is not finite"));
  CHECK(has_event(box, "tolaria.bundle_cut"));
  const auto steps = steps_of(box);
  const auto passed_over = [](const json& step) { return step["passed_over"] == true; };
  CHECK(std::ranges::count_if(steps, passed_over) == 1);
  const auto bad = [](const json& step) { return step["loss"] == "nan"; };
  CHECK(std::ranges::count_if(steps, bad) == 1);
  CHECK(std::ranges::find_if(steps, bad)->at("step") == 10);
}

TEST_CASE("a run that goes back to a checkpoint leaves a bundle, too") {
  const RunRoom room;
  const Finished finished =
      train_with(room,
                 {"epochs=3", "policy.kind=none", "growth.enabled=false", "host.base_channels=128",
                  "safety.snapshot_limit_mb=1", "checkpoint.every=2 steps"},
                 "tolaria.nan_input@12");
  INFO(finished.out << finished.err);
  REQUIRE(finished.exit_code == 0);
  const auto run = room.run("run");
  const auto restored = events_of(run, "tolaria.rollback.restored");
  REQUIRE(restored.size() == 1);
  CHECK(restored[0]["attributes"]["tier"] == "checkpoint");
  const auto bundles = bundles_of(run);
  REQUIRE(bundles.size() == 1);
  const json found = json_of(repro(bundles.front()));
  CHECK(found["reproduced"] == true);
  CHECK(found["step"] == 11);
}

TEST_CASE("a step that overflows is walked back to the operation that made the first number that is not finite") {
  const RunRoom room;
  const Words diverging = {"training.optimizer.lr=1000", "training.optimizer.weight_decay=10", "host.kind=mlp",
                           "data.shape=[64]", "growth.blueprints=[]"};
  const Finished finished = train_with(room, diverging, "");
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 4);
  const auto bundles = bundles_of(room.run("run"));
  REQUIRE_FALSE(bundles.empty());
  CHECK_THAT(finished.err, ContainsSubstring("esper repro " + bundles.back().string() + "\n"));
  const Finished again = repro(bundles.front());
  INFO(again.out << again.err);
  CHECK(again.exit_code == 0);
  const json found = json_of(again);
  CHECK(found["result"] == "the gradient's norm");
  REQUIRE(found["first"].is_object());
  CHECK(found["first"]["bad_input"] == "");
  CHECK(found["first"]["operation"] == "aten::dot");
  for (const auto& input : found["first"]["inputs"]) {
    CHECK(input["name"] == "gradients");
    CHECK(input["nan"].get<int>() + input["infinite"].get<int>() == 0);
    CHECK(input["max"].get<double>() > 1e18);
  }
  CHECK(found["first"]["outputs"][0]["infinite"] == 1);
}

TEST_CASE("a bundle is reproduced wherever it lies, and one that does not fit is refused") {
  const RunRoom room;
  REQUIRE(train_with(room, {"epochs=2"}, "tolaria.nan_input@3").exit_code == 0);
  const auto bundle = bundles_of(room.run("run")).at(0), moved = room.path / "moved";
  fs::rename(bundle, moved);
  CHECK(repro(moved).exit_code == 0);

  std::string batch = contents_of(moved / "batch.safetensors");
  SECTION("what is finite now is not reproduced") {
    for (std::size_t at = batch.find("\xc0\x7f"); at != std::string::npos; at = batch.find("\xc0\x7f", at))
      batch.replace(at, 2, 2, '\0');
    replace_file(moved, "batch.safetensors", batch);
    const Finished finite = run_esper({"repro", moved.string()});
    INFO(finite.out << finite.err);
    CHECK(finite.exit_code == 1);
    CHECK_THAT(finite.out, ContainsSubstring("not reproduced: the step is finite now"));
  }
  SECTION("a changed byte") {
    batch.back() = static_cast<char>(batch.back() ^ 1);
    std::ofstream(moved / "batch.safetensors", std::ios::binary) << batch;
    const Finished damaged = repro(moved);
    CHECK(damaged.exit_code == 5);
    CHECK_THAT(damaged.err, ContainsSubstring("moved is damaged"));
  }
  SECTION("a state of another network") {
    std::string config = contents_of(moved / "config.yaml");
    const auto at = config.find("base_channels: 4");
    REQUIRE(at != std::string::npos);
    config.replace(at, 16, "base_channels: 8");
    replace_file(moved, "config.yaml", config);
    CHECK(repro(moved).exit_code == 5);
  }
  SECTION("a batch of another shape") {
    const auto at = batch.find("[32,1,8,8]");
    REQUIRE(at != std::string::npos);
    batch.replace(at, 10, "[1,32,8,8]");
    replace_file(moved, "batch.safetensors", batch);
    const Finished wrong = repro(moved);
    CHECK(wrong.exit_code == 5);
    CHECK_THAT(wrong.err, ContainsSubstring("its step cannot be run"));
  }
  SECTION("no configuration") {
    REQUIRE(fs::remove(moved / "config.yaml"));
    const Finished wrong = repro(moved);
    CHECK(wrong.exit_code == 2);
    CHECK_THAT(wrong.err, ContainsSubstring("is not a bundle: there is no config.yaml in it"));
  }
  SECTION("a folder that is no bundle") {
    const Finished wrong = repro(room.run("run"));
    CHECK(wrong.exit_code == 2);
    CHECK_THAT(wrong.err, ContainsSubstring("is not a bundle: there is no step.json in it"));
    CHECK(repro("/nonexistent").exit_code == 2);
  }
}

TEST_CASE("the black box of a killed run has its last steps, and the resumed run continues it") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  RunningProgram program(train_command(config, run, {"epochs=2000"}));
  REQUIRE(wait_for_first_epoch(run, program));
  const auto last_while_running = steps_of(blackbox_of(run)).back()["step"].get<int>();
  program.send(SIGKILL);
  program.wait();
  const json killed = blackbox_of(run);
  const auto steps = steps_of(killed);
  REQUIRE(steps.size() >= 8);
  const json last = steps.back();
  CHECK(last["step"].get<int>() >= last_while_running);
  CHECK(last["loss"].get<double>() > 0);
  CHECK(last["gradient_norm"].get<double>() > 0);
  CHECK(last["learning_rate"] == 0.05);
  CHECK(last["rng"].is_string());
  CHECK(last["first_batch"].get<int>() == last["step"].get<int>() % 8);
  CHECK(has_event(killed, "tolaria.run_started"));
  CHECK(blackbox_of(run, {"--last", "2"})["records"].size() == 2);

  const auto number = killed["records"].back()["number"].get<int>();
  const auto newest = state_of(run, checkpoints_of(run).back())["progress"];
  REQUIRE(resume(run, {"epochs=" + std::to_string(newest["epoch"].get<int>() + 2)}).exit_code == 0);
  const json resumed = blackbox_of(run);
  CHECK(has_event(resumed, "tolaria.resumed"));
  CHECK(resumed["records"].back()["number"].get<int>() > number);
  const Finished text = run_esper({"blackbox", run.string(), "--last", "30"});
  CHECK_THAT(text.out, ContainsSubstring("tolaria.run_finished") && ContainsSubstring("eager"));
}

TEST_CASE("a full disk costs the black box and the bundles, and nothing else") {
  const RunRoom room;
  const auto run = room.run("run");
  SECTION("no black box") {
    REQUIRE(train_with(room, {"epochs=2"}, "storage.map@1").exit_code == 0);
    CHECK(events_of(run, "tolaria.blackbox_off").size() == 1);
    std::filesystem::remove(run / "blackbox");
    const Finished none = run_esper({"blackbox", run.string()});
    CHECK(none.exit_code == 2);
    CHECK_THAT(none.err, ContainsSubstring("has no black box"));
  }
  SECTION("no bundle") {
    const Finished finished = train_with(room, {"epochs=2", "checkpoint.every=0 steps", "checkpoint.keep_best=false"},
                                         "tolaria.nan_input@3,storage.publish@1");
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    const auto failed = events_of(run, "tolaria.bundle_failed");
    REQUIRE(failed.size() == 1);
    CHECK_THAT(failed[0]["attributes"]["reason"].get<std::string>(), ContainsSubstring("No space left"));
    CHECK(bundles_of(run).empty());
  }
  SECTION("a damaged black box is replaced") {
    REQUIRE(train_with(room, {"epochs=1"}, "").exit_code == 0);
    std::ofstream(run / "blackbox", std::ios::binary) << "nonsense";
    CHECK(run_esper({"blackbox", run.string()}).exit_code == 3);
    REQUIRE(resume(run, {"epochs=2"}).exit_code == 0);
    CHECK(events_of(run, "tolaria.blackbox_replaced").size() == 1);
    CHECK(steps_of(blackbox_of(run)).size() == 8);
  }
}

TEST_CASE("a run has no more than four bundles") {
  const RunRoom room;
  const Words many = {"epochs=2", "safety.most_skipped_steps=6"};
  REQUIRE(train_with(room, many, "tolaria.nan_input@2x6").exit_code == 0);
  CHECK(bundles_of(room.run("run")).size() == 4);
  CHECK(events_of(room.run("run"), "tolaria.step_skipped").size() == 6);
}

}  // namespace esper::test::blackbox_test
