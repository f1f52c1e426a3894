// A PyTorch model of the user's, from its file to a grown run that needs it no more; and what an import refuses.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>

#include "meddling_python.h"
#include "run_record.h"
#include "run_room.h"

namespace esper::test::import_test {

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


class Leaves(Net):
    def __init__(self):
        super().__init__()
        raise SystemExit(3)


class Noisy(Net):
    def forward(self, x):
        return super().forward(x) + torch.rand(x.shape[0], 10)


class Joined(nn.Module):  # a picture and two words of seven
    def __init__(self):
        super().__init__()
        self.picture = nn.Conv2d(1, 4, 3, padding=1)
        self.words = nn.Embedding(7, 4)
        self.blocks = nn.Sequential(nn.Sequential(nn.Linear(12, 12), nn.ReLU()), nn.Sequential(nn.Linear(12, 12), nn.ReLU()))
        self.head = nn.Linear(12, 3)

    def forward(self, picture, words):
        if words.dtype != torch.int64:
            raise TypeError("words are whole numbers")
        x = torch.cat([torch.relu(self.picture(picture)).mean((2, 3)), self.words(words).flatten(1)], 1)
        x = self.blocks(x)
        return {"hidden": x, "logits": self.head(x)}


class Pixels(nn.Module):  # a class for each pixel
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU()),
                                    nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.ReLU()))
        self.head = nn.Conv2d(6, 2, 1)

    def forward(self, x):
        return self.head(self.blocks(x))


class Spare(Pixels):  # with a parameter that it does not use
    def __init__(self):
        super().__init__()
        self.spare = nn.Parameter(torch.ones(3))


class Series(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 6, batch_first=True)
        self.head = nn.Linear(6, 3)

    def forward(self, series):  # [B, T, 4]
        y, state = self.rnn(series)
        y = self.head(y[:, -1])
        return (y, state[0]) if self.training else y


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(64, 8), nn.Linear(8, 3)
        self.register_buffer("ema", torch.zeros(8))
        self.register_buffer("queue", torch.ones(4, 8))

    def forward(self, x):
        return self.b(self.middle(self.a(x.flatten(1))))


class WritesPart(Layers):
    def middle(self, h):
        weights = torch.ones_like(h)
        with torch.no_grad():
            weights[:, :4] = h[:, :4].abs()
        return h * weights


class WritesHidden(Layers):  # whose own gradient stays
    def middle(self, h):
        h, sums = h.exp(), torch.zeros_like(h)
        with torch.no_grad():
            sums[:, 0].add_(h[:, 0])
        doubled = h + 1
        with torch.no_grad():
            doubled.mul_(2)
        return doubled / (sums + 1)


class Averages(Layers):
    def middle(self, h):
        y = torch.relu(h - self.ema)
        if self.training:
            with torch.no_grad():
                self.ema.mul_(0.9).add_(h.mean(0), alpha=0.1)
                self.queue[1] = h.mean(0)
        return y


class Copies(Layers):
    def middle(self, h):
        copy = torch.zeros_like(h)
        copy.copy_(h * 2)
        return copy


class DropsNothing(Layers):
    def middle(self, h):
        dropped = nn.functional.dropout(h, 0.5, False)
        dropped.relu_()
        return h + dropped


class KeepsGradients(Layers):
    def middle(self, h):
        y = torch.relu(h - self.ema)
        if self.training:
            self.ema.mul_(0.9).add_(h.mean(0), alpha=0.1)
        return y


class WritesParameter(Layers):
    def middle(self, h):
        with torch.no_grad():
            self.b.weight.clamp_(-0.1, 0.1)
        return h


class ByBatch(Layers):
    def middle(self, h):
        return 2 * h if h.shape[0] > 16 else h


class BySample(Layers):
    def middle(self, h):
        return 2 * h if h.shape[0] == 1 else h


class Squeezed(Layers):
    def middle(self, h):
        return h[:, :, None].squeeze()


class InPieces(Layers):  # in training alone
    def middle(self, h):
        if not self.training:
            return h
        return torch.cat([piece - piece.mean(0) for piece in h.chunk(max(1, h.shape[0] // 8))])


class OneNumber(Layers):
    def forward(self, x):
        return self.b(self.a(x.flatten(1)))[:, 0]


class Distances(Layers):  # another kernel for more than 25 samples
    def middle(self, h):
        return h + torch.cdist(h, self.queue)[:, :1]


class Round(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return torch.round(x)

    @staticmethod
    def backward(context, gradient):
        return gradient


class OwnBackward(Layers):
    def middle(self, h):
        return Round.apply(4 * h)


class NotFinite(Net):
    def __init__(self):
        super().__init__()
        self.head.bias.data.fill_(float("nan"))


number = 3
)";

struct ImportRoom {
  RunRoom room;
  std::string model = room.write("model.py", kModel);
  std::string out = (room.path / "net").string();

  Finished import(const std::string& name, const Words& more = {}, const Words& environment = {}) const {
    return run_esper(Words{"import", model + ":" + name, "--example", "1x8x8", "--out", out} + more, environment);
  }
  void refused(const std::string& name, const std::string& reason, const Words& more = {}) const {
    CAPTURE(name, more);
    const auto finished = import(name, more);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring(reason));
    CHECK_FALSE(fs::exists(out));
  }
};

template <class T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

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
  fs::remove_all(straight / "host");
  const auto without = run_esper({"evaluate", straight.string()});
  CHECK(without.exit_code == 5);
  CHECK_THAT(without.err, ContainsSubstring("has no folder host"));
}

TEST_CASE("a folder that appears while a model is imported stays") {
  need_python_with_torch();
  const ImportRoom import;
  const Words environment{"ESPER_PYTHON=" + python_that_makes(import.out, import.room)};
  for (const Words& more : {Words{}, Words{"--replace"}}) {
    const auto finished = import.import("Net", more, environment);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err,
               ContainsSubstring(more.empty() ? "exists; name another folder" : "is not an imported network"));
    CHECK(contents_of(import.out + "/notes") == "mine\n");
    fs::remove_all(import.out);
  }
}

// The class is the first of two words, which a network that takes the words' table into account learns at once: rows of
// 16 numbers of a picture, which say nothing, and the words.
TEST_CASE("a model of several inputs and results trains on rows, one of series on images of one channel") {
  const ImportRoom import;
  const auto joined = run_esper({"import", import.model + ":Joined", "--example", "1x4x4,2:int64", "--output", "logits",
                                 "--out", import.out, "--json"});
  INFO(joined.err);
  REQUIRE(joined.exit_code == 0);
  const auto shown = json_of(run_esper({"import", "--show", import.out, "--json"}));
  CHECK(shown["input"] == json{18});
  CHECK(shown["example"] == "1x4x4,2:int64");
  std::string rows;
  for (int i = 0; i < 240; ++i) {
    for (int k = 0; k < 16; ++k) rows += std::to_string((i * 7 + k * 5) % 11) + ",";
    rows += std::to_string(i % 3) + "," + std::to_string(i % 5) + "," + std::to_string(i % 3) + "\n";
  }
  const RunRoom& room = import.room;
  const auto data = room.write("rows.csv", rows);
  const auto config = room.write("plain.yaml", "epochs: 20\ntraining: {optimizer: {kind: adamw, lr: 0.02}}\n");
  const auto run = room.run("joined");
  const auto trained = train(config, run,
                             {"host.kind=exported", "host.path=" + import.out, "data.kind=csv", "data.path=" + data,
                              "data.standardize=false"});
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  const auto evaluated = json_of(run_esper({"evaluate", run.string(), "--json"}));
  INFO(evaluated.dump());
  CHECK(evaluated["validation"]["accuracy"] == 1.0);

  const std::string series = import.out + "-series";
  REQUIRE(
      run_esper({"import", import.model + ":Series", "--example", "5x4", "--output", "0", "--out", series}).exit_code ==
      0);
  CHECK(json_of(run_esper({"import", "--show", series, "--json"}))["input"] == json{1, 5, 4});
  fs::remove_all(import.out);
  import.refused("Joined", "Joined.forward() missing");
  import.refused("Two", "the model returns 2 values", {"--output", "2"});
  import.refused("Two", "the model returns 2 values", {"--output", "logits"});
}

namespace {

constexpr std::size_t kPixelSamples = 80, kPixels = 16;

// x.npy and y.npy: a pixel's class is whether it is positive. Returns the classes.
std::vector<std::int64_t> write_pixels(const RunRoom& room) {
  std::vector<float> x(kPixelSamples * kPixels);
  std::vector<std::int64_t> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>((i * 7919) % 13) - 6.5f;
    y[i] = x[i] > 0 ? 1 : 0;
  }
  room.write("x.npy", npy("<f4", "(80, 4, 4)", x));
  room.write("y.npy", npy("<i8", "(80, 4, 4)", y));
  return y;
}

}  // namespace

TEST_CASE("a network that answers for each pixel trains, and its predictions are rows of classes") {
  const ImportRoom import;
  const RunRoom& room = import.room;
  REQUIRE(run_esper({"import", import.model + ":Pixels", "--example", "1x4x4", "--out", import.out}).exit_code == 0);
  const auto y = write_pixels(room);
  const auto config = room.write("pixels.yaml", "epochs: 30\ntraining: {optimizer: {kind: adamw, lr: 0.02}}\n");
  const auto run = room.run("pixels");
  const auto trained = train(config, run,
                             {"host.kind=exported", "host.path=" + import.out, "data.kind=npy",
                              "data.path=" + room.path.string(), "data.batch_size=8"});
  INFO(trained.err);
  REQUIRE(trained.exit_code == 0);
  const auto predicted = run_esper({"predict", run.string(), room.path.string() + "/x.npy", "--json"});
  INFO(predicted.err);
  REQUIRE(predicted.exit_code == 0);
  std::istringstream lines(predicted.out);
  std::size_t samples = 0, right = 0;
  for (std::string line; std::getline(lines, line); ++samples) {
    const auto rows = json::parse(line)["pixels"];
    REQUIRE(rows.size() == 4);
    for (std::size_t i = 0; i < kPixels; ++i) {
      right += rows.at(i / 4).at(i % 4) == std::to_string(y.at(samples * kPixels + i)) ? 1 : 0;
    }
  }
  CHECK(samples == kPixelSamples);
  CHECK(right > kPixelSamples * kPixels * 95 / 100);
  const auto most = run_esper({"predict", run.string(), room.path.string() + "/x.npy", "--top", "999"});
  CHECK(most.exit_code == 2);
  CHECK(most.out.empty());
  CHECK_THAT(most.err, ContainsSubstring("--top: this network predicts a class for each pixel"));

  const auto built_in =
      train(config, room.run("mlp"), {"host.kind=mlp", "data.kind=npy", "data.path=" + room.path.string()});
  CHECK(built_in.exit_code == 2);
  CHECK_THAT(built_in.err,
             ContainsSubstring("host.kind: the data have a class for each of 4 x 4 pixels, and the network's "
                               "outputs are for one class for each sample"));
  CHECK_FALSE(fs::exists(room.run("mlp")));
  fs::create_directory(room.path / "samples");
  fs::copy(room.path / "x.npy", room.path / "samples");
  room.write("samples/y.npy", npy("<i8", "(80,)", std::vector<std::int64_t>(kPixelSamples)));
  const auto measured =
      run_esper({"evaluate", run.string(), "--set", "data.test_path=" + room.path.string() + "/samples"});
  CHECK(measured.exit_code == 3);
  CHECK_THAT(measured.err, ContainsSubstring("/samples: the data have one class for each sample"));
}

TEST_CASE("bench measures a network of pixels whose forward does not use every parameter") {
  const ImportRoom import;
  const RunRoom& room = import.room;
  REQUIRE(run_esper({"import", import.model + ":Spare", "--example", "1x4x4", "--out", import.out}).exit_code == 0);
  write_pixels(room);
  for (const std::string optimizer : {"sgd", "adamw"}) {
    const auto config = room.write("spare.yaml", "training: {optimizer: {kind: " + optimizer + "}}\n");
    const auto measured =
        run_esper(Words{"bench", "--config", config, "--rounds", "3", "--epochs", "3", "--lanes", "eager", "--json"} +
                  sets({"host.kind=exported", "host.path=" + import.out, "data.kind=npy",
                        "data.path=" + room.path.string(), "data.batch_size=8"}));
    INFO(measured.err);
    REQUIRE(measured.exit_code == 0);
    CHECK(json::parse(measured.out).at("refused").empty());
  }
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
  import.refused("NotFinite", "are the model's weights finite?");
  import.refused("Leaves", "ended Python");
  import.refused("OneNumber", "output has no dimension besides the batch's; let it return one number as [batch, 1]");
  import.refused("Net", "NAME=VALUE", {"--arg", "num_classes"});
  import.refused("Net", "num_klasses", {"--arg", "num_klasses=3"});
  import.refused("Net", "only safetensors", {"--weights", "net.pt"});
  const auto bad_shape = run_esper({"import", import.model + ":Net", "--example", "1x8xy", "--out", import.out});
  CHECK_THAT(bad_shape.err, ContainsSubstring("1x8xy is not the shape"));
  const auto negative = run_esper({"import", import.model + ":Net", "--example", "-1x8", "--out", import.out});
  CHECK_THAT(negative.err, ContainsSubstring("-1x8 is not the shape"));
  CHECK_THAT(
      run_esper({"import", import.room.path.string() + "/none.py:Net", "--example", "1x8x8", "--out", import.out}).err,
      ContainsSubstring("there is no file"));
  CHECK_THAT(run_esper({"import", "--from-timm", "resnet18", "--example", "1x8x8", "--out", import.out}).err,
             ContainsSubstring("timm is not installed"));
}

TEST_CASE("what a model writes in place or under no_grad has PyTorch's gradients") {
  for (const std::string name : {"WritesPart", "WritesHidden", "Averages", "Copies", "DropsNothing"}) {
    CAPTURE(name);
    const ImportRoom import;
    const auto finished = import.import(name, {"--json"});
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
    CHECK(json_of(finished)["largest_difference"].get<double>() < 1e-5);
  }
}

TEST_CASE("a model whose steps the engine cannot take as PyTorch does is refused") {
  const ImportRoom import;
  import.refused("KeepsGradients", "numbers that carry a gradient into its buffer ema");
  import.refused("WritesParameter", "writes into the parameter b.weight");
  import.refused("OwnBackward", "gradients differ");
}

TEST_CASE("a model that does something else with larger batches than with the traced one is not imported as that one") {
  const ImportRoom import;
  for (const auto* name : {"ByBatch", "InPieces"}) import.refused(name, "use x.shape[0] in an if, a .chunk() or");
  const auto same = import.import("Distances");
  INFO(same.err);
  CHECK(same.exit_code == 0);
}

TEST_CASE("a model that does something else with a single sample than with several is refused") {
  const ImportRoom import;
  import.refused("BySample", "use x.shape[0] in an if");
  import.refused("Squeezed",
                 "for a batch of 1 the model's output has shape [3], expected [1, 3]; a .squeeze() without");
}

TEST_CASE("a model's own modules may be called as those of the import are") {
  const ImportRoom import;
  const fs::path models = import.room.path / "models";
  fs::create_directory(models);
  fs::rename(import.model, models / "example.py");
  import.room.write("build.py", "from models.example import Net\n");
  const auto made =
      run_esper({"import", import.room.path.string() + "/build.py:Net", "--example", "1x8x8", "--out", import.out});
  INFO(made.err);
  CHECK(made.exit_code == 0);
}

TEST_CASE("an import makes the folders above the one that it writes, and nothing is done where it cannot") {
  const ImportRoom import;
  const auto import_to = [&](const std::string& folder) {
    return run_esper({"import", import.model + ":Net", "--example", "1x8x8", "--out", folder});
  };
  const auto folder = import.room.path / "models" / "small" / "net";
  const auto made = import_to(folder);
  INFO(made.err);
  CHECK(made.exit_code == 0);
  CHECK(fs::exists(folder / "manifest.json"));
  const auto file = import.room.write("file", "mine");
  const auto refused = import_to(file + "/net");
  CHECK(refused.exit_code == 6);
  CHECK_THAT(refused.err, ContainsSubstring(file));
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
  CHECK_THAT(elsewhere.err, ContainsSubstring("is not an imported network"));
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
  refused(imported(import.out, {"host.freeze=[\"blocs.*\"]"}), "matches no parameter");
  refused({"host.path=" + import.out, "host.kind=cnn"}, "belongs to host.kind exported");
}

}  // namespace esper::test::import_test
