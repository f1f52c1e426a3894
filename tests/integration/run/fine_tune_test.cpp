// Growth on a network that does not learn: low-rank modules in a frozen transformer, as docs/fine_tuning.md has it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"

namespace esper::test::fine_tune_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;
namespace storage = esper::storage;

namespace {

// Sentences of a few words; `order` says which follow each other.
std::string text_of(int order) {
  const std::vector<std::string> words{"the cat ", "sat on ", "a mat. ", "no dog ", "ran in ", "the hat. "};
  std::string text;
  for (int i = 0; i < 900; ++i) text += words[static_cast<std::size_t>(i * order + i / 7) % words.size()];
  return text;
}

std::string config_of(const std::string& text) {
  return "name: base\nseed: 3\nepochs: 2\ndevice: {kind: cpu, threads: 1}\ndata: {kind: text, path: " + text +
         ", context: 16, batch_size: 16}\n" +
         "host: {kind: transformer, layers: 2, embedding: 16, heads: 2, segments: 2}\n"
         "training: {optimizer: {kind: adamw, lr: 0.005}}\npolicy: {kind: none}\nstep: {lane: eager}\n"
         "checkpoint: {keep_best: false}\ntelemetry: {console: none}\n";
}

// By name, the bytes of the tensors of a checkpoint or a file of weights.
std::map<std::string, std::string> tensors_of(const fs::path& file) {
  const auto loaded = storage::load_safetensors(storage::real_file_system(), file.string(), 1u << 30);
  REQUIRE(loaded);
  std::map<std::string, std::string> tensors;
  for (const auto& view : loaded->contents.tensors) {
    tensors[view.name] = {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
  }
  return tensors;
}

double first_loss(const fs::path& run) { return values_of(run, "tolaria.validation.loss").front(); }
double last_loss(const fs::path& run) { return values_of(run, "tolaria.validation.loss").back(); }

}  // namespace

TEST_CASE("low-rank modules grow in a frozen transformer, which stays as it was to the last bit") {
  const RunRoom room;
  const auto base_text = room.write("base.txt", text_of(1)), new_text = room.write("new.txt", text_of(5));
  const auto base = room.run("base");
  const auto trained = train(room.write("base.yaml", config_of(base_text)), base);
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  const auto weights = (room.path / "weights").string();
  const auto exported = run_esper({"export", base.string(), "--format", "safetensors", "--out", weights});
  INFO(exported.err);
  REQUIRE(exported.exit_code == 0);
  const std::string file = weights + "/weights.safetensors";

  const auto adapters = room.run("adapters");
  const auto grown =
      train(room.write("new.yaml", config_of(new_text)), adapters,
            {"host.weights=" + file, "host.freeze=[\"*\", \"!norm.*\"]", "epochs=5", "growth.blueprints=[lora]",
             "policy.kind=schedule", "policy.schedule=[\"1:r0c0=lora\", \"1:r0c1=lora\"]"});
  INFO(grown.err);
  REQUIRE(grown.exit_code == 0);
  const auto before = tensors_of(file);
  const auto after = tensors_of(adapters / "checkpoints" / checkpoints_of(adapters).back() / "state.safetensors");
  std::size_t frozen = 0, seeds = 0;
  for (const auto& [name, bytes] : after) {
    if (name.starts_with("seed-") && name.ends_with("weight")) ++seeds;
    if (!name.starts_with("host.")) continue;
    CAPTURE(name);
    CHECK((before.at(name) == bytes) == !name.starts_with("host.norm."));
    ++frozen;
    CHECK_FALSE(after.contains("optimizer.exp_avg." + name) != name.starts_with("host.norm."));
  }
  CHECK(frozen > 10);
  CHECK(seeds >= 2);
  CHECK(last_loss(adapters) < first_loss(adapters));

  const auto scratch = room.run("scratch");
  REQUIRE(train(room.write("scratch.yaml", config_of(new_text)), scratch).exit_code == 0);
  CHECK(first_loss(adapters) != first_loss(scratch));
}

TEST_CASE("after the epoch of unfreezing the host learns, and a run that is resumed there is the same") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Words setting{"host.freeze=[\"block0.*\"]", "host.unfreeze_epoch=2", "epochs=4", "checkpoint.every=1 epoch"};
  const auto straight = room.run("straight");
  const auto trained = train(config, straight, setting);
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  const auto checkpoints = checkpoints_of(straight);
  const auto weight = [&](std::size_t i) {
    return tensors_of(straight / "checkpoints" / checkpoints[i] / "state.safetensors").at("host.block0.conv.weight");
  };
  REQUIRE(checkpoints.size() == 4);
  CHECK(weight(0) == weight(1));
  CHECK(weight(1) != weight(2));
  const auto record = record_of(straight);
  const auto copy = room.run("copy");
  copy_run_until(straight, checkpoints[1], copy);
  REQUIRE(resume(copy).exit_code == 0);
  check_equal(record_of(copy), record, Telemetry::kMayLack);
}

TEST_CASE("weights of another model are refused before a run is made") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  const auto finished = train(config, run, {"host.weights=" + room.write("not.safetensors", "no weights")});
  CHECK(finished.exit_code == 3);
  CHECK_THAT(finished.err, ContainsSubstring("safetensors"));
  CHECK_FALSE(fs::exists(run));
}

}  // namespace esper::test::fine_tune_test
