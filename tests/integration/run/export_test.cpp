// `esper export`: what it writes, that it is there whole or not at all, and what it refuses.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "meddling_python.h"
#include "run_record.h"
#include "run_room.h"

namespace esper::test::export_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr double kMostDifference = 1e-5;

// A run with two fossils and averages, so that batch norm's statistics are those of the averages.
struct TrainedRoom {
  RunRoom room;
  std::string run = room.run("run").string();
  TrainedRoom() {
    const auto config = room.write("small.yaml", growing_config());
    REQUIRE(train(config, run, {"training.ema_decay=0.9"}).exit_code == 0);
  }
  std::string out(const std::string& name) const { return (room.path / name).string(); }
  Finished write(const std::string& format, const std::string& name, const Words& more = {},
                 const Words& environment = {}) const {
    return run_esper(Words{"export", run, "--format", format, "--out", out(name), "--json"} + more, environment);
  }
};

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Words with_facts(Words names) {
  for (const char* name : {"MODEL.md", "config.yaml", "manifest.json", "preprocessing.json"}) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

void require_agreement(const Finished& finished) {
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK(json_of(finished)["difference"].get<double>() < kMostDifference);
}

void refused(const Finished& finished, int code, const std::string& reason) {
  CHECK(finished.exit_code == code);
  CHECK_THAT(finished.err, ContainsSubstring(reason));
}

}  // namespace

TEST_CASE("a run is exported in every format, each compared with Esper's own outputs") {
  const TrainedRoom trained;
  require_agreement(trained.write("pytorch", "torch"));
  CHECK(names_in(trained.out("torch")) == with_facts({"model.py", "weights.safetensors"}));
  const auto card = contents_of(trained.out("torch") + "/MODEL.md");
  CHECK_THAT(card, ContainsSubstring("| seed-0001 |") && ContainsSubstring("averages over training steps") &&
                       ContainsSubstring("| accuracy | "));

  require_agreement(trained.write("pt2", "pt2"));
  CHECK(names_in(trained.out("pt2")) == with_facts({"model.pt2"}));
  // PyTorch's own search for instruction sets starts six Pythons, each of which loads torch.
  require_agreement(trained.write("aoti", "aoti", {}, {"TORCHINDUCTOR_VEC_ISA_OK=1"}));
  CHECK(names_in(trained.out("aoti")) == with_facts({"model_aoti.pt2"}));

  const auto weights = trained.write("safetensors", "weights", {}, {"ESPER_PYTHON=/nonexistent"});
  CHECK(weights.exit_code == 0);
  CHECK(json_of(weights)["difference"].is_null());
  CHECK(names_in(trained.out("weights")) == with_facts({"weights.safetensors"}));
  CHECK(contents_of(trained.out("weights") + "/weights.safetensors") ==
        contents_of(trained.out("torch") + "/weights.safetensors"));

  const auto onnx = trained.write("onnx", "onnx");
  if (onnx.exit_code == 0) {
    require_agreement(onnx);
    CHECK(names_in(trained.out("onnx")) == with_facts({"model.onnx"}));
  } else {
    refused(onnx, 6, "-m pip install onnx");
    CHECK_FALSE(fs::exists(trained.out("onnx")));
  }
}

TEST_CASE("a network over tokens is exported with and without a vocabulary of words, and prepares their numbers") {
  const RunRoom room;
  const std::string tokens = ESPER_SOURCE_DIR "/data/examples/tokens/";
  const auto config = room.write("tokens.yaml",
                                 "epochs: 1\nhost: {kind: transformer, layers: 1, segments: 1, embedding: 8, "
                                 "heads: 2}\n");
  for (const bool named : {true, false}) {
    Words settings = {"task=language", "data.kind=tokens", "data.path=" + tokens + "train.bin", "data.context=4",
                      "data.batch_size=4"};
    if (named) settings.push_back("data.vocabulary=" + tokens + "vocabulary.json");
    const auto run = room.run(named ? "named" : "numbers").string();
    const auto trained = train(config, run, settings);
    INFO(trained.err);
    REQUIRE(trained.exit_code == 0);
    require_agreement(run_esper({"export", run, "--format", "pytorch", "--out", run + "-torch", "--json"}));
    CHECK_THAT(contents_of(run + "-torch/MODEL.md"), ContainsSubstring("preprocess([0, 1])"));
  }
}

TEST_CASE("a run that scaled its loss is exported like any other") {
  const RunRoom room;
  const auto run = room.run("half").string();
  const Words settings{"epochs=1", "device.precision=fp16", "growth.enabled=false"};
  REQUIRE(train(ESPER_SOURCE_DIR "/configs/drill/run/digits_quick.yaml", run, settings).exit_code == 0);
  require_agreement(run_esper({"export", run, "--format", "pytorch", "--out", run + "-torch", "--json"}));
}

TEST_CASE("an export replaces an export on request, and nothing else") {
  const TrainedRoom trained;
  REQUIRE(trained.write("safetensors", "out").exit_code == 0);
  refused(trained.write("safetensors", "out"), 2, "exists already");
  CHECK(trained.write("safetensors", "out", {"--replace", "--checkpoint", "best"}).exit_code == 0);
  const auto before = names_in(trained.room.path.string());
  REQUIRE(fs::create_directory(trained.out("mine")));
  refused(trained.write("safetensors", "mine", {"--replace"}), 2, "not a folder that an export wrote");
  CHECK(fs::is_empty(trained.out("mine")));
  fs::remove(trained.out("mine"));
  CHECK(names_in(trained.room.path.string()) == before);
}

TEST_CASE("a folder that appears while an export is written stays") {
  need_python_with_torch();
  const TrainedRoom trained;
  const auto python = python_that_makes(trained.out("out"), trained.room);
  refused(trained.write("pytorch", "out", {}, {"ESPER_PYTHON=" + python}), 2, "exists already");
  CHECK(contents_of(trained.out("out") + "/notes") == "mine\n");
  CHECK(names_in(trained.out("out")) == Words{"notes"});
  fs::remove_all(trained.out("out"));
  refused(trained.write("pytorch", "out", {"--replace"}, {"ESPER_PYTHON=" + python}), 2,
          "not a folder that an export wrote");
  CHECK(names_in(trained.out("out")) == Words{"notes"});
}

TEST_CASE("a run that a signal ended within an epoch is exported with the statistics that another checkpoint holds") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words settings{"epochs=2", "policy.kind=none", "training.ema_decay=0.9"};
  const auto stopped = room.run("stopped"), whole = room.run("whole");
  REQUIRE(run_program(train_command(config, stopped, settings), {"ESPER_FAULTS=tolaria.training.term@3"}).exit_code ==
          143);
  REQUIRE(train(config, whole, settings + Words{"checkpoint.every=1 steps"}).exit_code == 0);
  const auto name = checkpoints_of(stopped).back();
  REQUIRE(state_of(stopped, name)["progress"]["batch"] > 0);
  const auto exported = [&](const fs::path& run, const std::string& out) {
    const auto finished =
        run_esper({"export", run.string(), "--checkpoint", name, "--format", "safetensors", "--out", room.path / out});
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    CHECK((finished.err.find("computing them from the run's training data") != std::string::npos) == (run == stopped));
    return contents_of(room.path / out / "weights.safetensors");
  };
  CHECK(exported(stopped, "from-stopped") == exported(whole, "from-whole"));
}

TEST_CASE("a run that a signal ended after its last step is exported without training a step again") {
  const RunRoom room;
  const auto run = room.run("run");
  const auto stopped = run_program(
      train_command(room.write("small.yaml", growing_config()), run,
                    {"epochs=2", "policy.kind=none", "training.ema_decay=0.9", "checkpoint.keep_best=false"}),
      {"ESPER_FAULTS=tolaria.ending.term@1"});
  REQUIRE(stopped.exit_code == 143);
  const Words command{"export", run.string(), "--format", "safetensors", "--out", room.path / "out"};
  CHECK(run_esper(command).exit_code == 0);
}

TEST_CASE("what cannot be exported is named, and nothing is left") {
  const TrainedRoom trained;
  refused(trained.write("gguf", "out"), 2, "formats: pytorch, pt2, aoti, onnx, safetensors");
  refused(trained.write("safetensors", "out", {"--checkpoint", "step-99"}), 2, "has no checkpoint step-99");
  refused(trained.write("pytorch", "out", {}, {"ESPER_PYTHON=/nonexistent"}), 6, "needs Python with PyTorch");
  const auto broken =
      trained.room.write("broken-python", "#!/bin/sh\ncase \"$*\" in *platform*) echo 3.11.0 1;; esac\n");
  fs::permissions(broken, fs::perms::owner_all);
  refused(trained.write("pytorch", "out", {}, {"ESPER_PYTHON=" + broken}), 6, "could not write it");
  CHECK_FALSE(fs::exists(trained.out("out")));
  trained.room.write("file", "");
  refused(trained.write("safetensors", "file"), 2, "is not a folder");
  fs::remove_all(trained.run + "/checkpoints");
  refused(trained.write("safetensors", "out"), 5, "checkpoint");
  refused(run_esper({"export", trained.out("nothing"), "--format", "onnx"}), 2, "nothing");
}

}  // namespace esper::test::export_test
