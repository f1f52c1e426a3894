// A PyTorch model of the user's, from its file to a grown run that needs it no more; and what an import refuses.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "run_record.h"
#include "run_room.h"

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr char kModel[] = R"(
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return torch.relu(x + self.drop(self.norm(self.conv(x))))


class Net(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.blocks = nn.Sequential(Block(4), Block(4))
        self.head = nn.Linear(4, num_classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Fixed(Net):
    def forward(self, x):
        return super().forward(x.view(3, 1, 8, 8))


class Branching(Net):
    def forward(self, x):
        if x.sum() > 0:
            return super().forward(x)
        return super().forward(-x)


class Two(Net):
    def forward(self, x):
        y = super().forward(x)
        return y, y


class Half(Net):
    def __init__(self):
        super().__init__()
        self.half()


class Noisy(Net):
    def forward(self, x):
        return super().forward(x) + torch.rand(x.shape[0], 10)


number = 3
)";

struct ImportRoom {
  RunRoom room;
  std::string model = room.write("model.py", kModel);
  std::string out = (room.path / "net").string();

  Finished import(const std::string& name, const Words& more = {}) const {
    return run_esper(Words{"import", model + ":" + name, "--example", "1x8x8", "--out", out} + more);
  }
  void refused(const std::string& name, const std::string& reason, const Words& more = {}) const {
    CAPTURE(name, more);
    const auto finished = import(name, more);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring(reason));
    CHECK_FALSE(fs::exists(out));
  }
};

// Of growing_config(), with the imported network.
Words imported(const std::string& package, const Words& more = {}) {
  return Words{"host.kind=exported", "host.path=" + package, "host.blocks=3"} + more;
}

}  // namespace

TEST_CASE("an imported model trains and grows, and its run needs neither its file nor its package") {
  const ImportRoom import;
  const auto first = import.import("Net", {"--json"});
  INFO(first.err);
  REQUIRE(first.exit_code == 0);
  CHECK(json_of(first)["slots"] == 2);
  CHECK(json_of(first)["largest_difference"].get<double>() < 1e-5);
  const auto shown = json_of(run_esper({"import", "--show", import.out, "--json"}));
  CHECK(shown["output"] == json{10});

  const RunRoom& room = import.room;
  const auto config = room.write("small.yaml", growing_config());
  const auto straight = room.run("straight");
  const auto trained = train(config, straight, imported(import.out));
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  const auto record = record_of(straight);
  CHECK_THAT(stages_of(state_of(straight, record.last_checkpoint)), ContainsSubstring("FOSSILIZED"));

  fs::remove_all(import.out);
  fs::remove(import.model);
  const auto checkpoints = checkpoints_of(straight);
  const auto middle = room.run("middle");
  copy_run_until(straight, checkpoints[checkpoints.size() / 2], middle);
  fs::copy(straight / "host", middle / "host", fs::copy_options::recursive | fs::copy_options::skip_existing);
  const auto resumed = resume(middle);
  INFO(resumed.err);
  REQUIRE(resumed.exit_code == 0);
  check_equal(record_of(middle), record, Telemetry::kMayLack);

  const auto evaluated = run_esper({"evaluate", straight.string(), "--json"});
  INFO(evaluated.err);
  CHECK(evaluated.exit_code == 0);
  const auto fork = (room.path / "fork").string();
  const auto forked = run_esper({"fork", straight.string() + "@14", "--run-dir", fork, "--no-train"});
  INFO(forked.err);
  CHECK(fs::exists(fs::path(fork) / "host" / "host.json"));
}

TEST_CASE("what an import refuses is named, and nothing is left behind") {
  const ImportRoom import;
  import.refused("Nothing", "has no Nothing; it has");
  import.refused("number", "neither a torch.nn.Module nor");
  import.refused("Fixed", "batch");
  import.refused("Branching", "line");
  import.refused("Two", "returns 2 values");
  import.refused("Half", ".float()");
  import.refused("Noisy", "outputs differ");
  import.refused("Net", "NAME=VALUE", {"--arg", "num_classes"});
  import.refused("Net", "num_klasses", {"--arg", "num_klasses=3"});
  import.refused("Net", "only safetensors", {"--weights", "net.pt"});
  const auto bad_shape = run_esper({"import", import.model + ":Net", "--example", "1x8xy", "--out", import.out});
  CHECK_THAT(bad_shape.err, ContainsSubstring("1x8xy is not the shape"));
  CHECK_THAT(
      run_esper({"import", import.room.path.string() + "/none.py:Net", "--example", "1x8x8", "--out", import.out}).err,
      ContainsSubstring("there is no file"));
  CHECK_THAT(run_esper({"import", "--from-timm", "resnet18", "--example", "1x8x8", "--out", import.out}).err,
             ContainsSubstring("timm is not installed"));
}

TEST_CASE("a run file that does not fit an imported model is refused before anything is made") {
  const ImportRoom import;
  REQUIRE(import.import("Net").exit_code == 0);
  CHECK_THAT(import.import("Net").err, ContainsSubstring("exists"));
  CHECK(import.import("Net", {"--replace"}).exit_code == 0);
  const auto other = import.room.write("kept.txt", "mine");
  const auto folder = import.room.path.string();
  const auto elsewhere =
      run_esper({"import", import.model + ":Net", "--example", "1x8x8", "--out", folder, "--replace"});
  CHECK(elsewhere.exit_code == 2);
  CHECK_THAT(elsewhere.err, ContainsSubstring("holds no imported network"));
  CHECK(fs::exists(other));
  const RunRoom& room = import.room;
  const auto config = room.write("small.yaml", growing_config());
  const auto refused = [&](const Words& assignments, const std::string& reason) {
    const auto run = room.run("refused");
    const auto finished = train(config, run, assignments);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring(reason));
    CHECK_FALSE(fs::exists(run));
  };
  refused(imported(import.out, {"growth.slots=[\"blocks.0.nrm\"]"}), "did you mean blocks.0.norm");
  refused(imported(import.out + "x"), "esper import");
  refused(imported(import.out, {"data.shape=[64]"}), "1, 8, 8");
  refused(imported(import.out, {"host.freeze=[\"blocs.*\"]"}), "fits no parameter");
  refused({"host.path=" + import.out, "host.kind=cnn"}, "belongs to host.kind exported");
}
