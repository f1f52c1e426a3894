#include "config/loading/load.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

// Of a text that has exactly one problem.
std::string problem_of(const std::string& text) {
  const LoadedConfig loaded = read_run_config_text(text, "f");
  REQUIRE(loaded.problems.size() == 1);
  return to_string(loaded.problems[0]);
}

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "esper_config_load_test";
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
};

}  // namespace

TEST_CASE("values of every type are read") {
  const LoadedConfig loaded = read_run_config_text(
      "seed: 18446744073709551615\n"
      "data: {kind: csv, path: x.csv, max_samples: 9000000000, shape: [1, 8, 8], standardize: false}\n"
      "training: {optimizer: {kind: adamw, lr: 1e-3, eps: 1E-9}}\n"
      "host: {kind: mlp, hidden: [8, 8]}\n"
      "growth: {slots: [r0c1, \"r0c0\"], max_seeds: 2}\n"
      "safety: {policy_deadline: 1.5s}\n"
      "checkpoint: {every: 200 steps}\n",
      "f");
  REQUIRE(loaded.problems.empty());
  const RunConfig& config = loaded.config;
  CHECK(config.seed == UINT64_MAX);
  CHECK(config.data.kind == DataKind::kCsv);
  CHECK(config.data.max_samples == 9'000'000'000);
  CHECK(config.data.shape == std::vector<std::int64_t>{1, 8, 8});
  CHECK_FALSE(config.data.standardize);
  CHECK(config.training.optimizer.lr == 1e-3);
  CHECK(config.training.optimizer.eps == 1e-9);
  CHECK(config.growth.slots == std::vector<std::string>{"r0c1", "r0c0"});
  CHECK(config.safety.policy_deadline == std::chrono::milliseconds(1500));
  CHECK(config.checkpoint.every == Length{200, Length::Unit::kSteps});
  CHECK(config.epochs == RunConfig{}.epochs);
}

TEST_CASE("a wrong value is refused with its place, its path and the way out") {
  struct Case {
    std::string text, expected;
  };
  const Case c = GENERATE(
      Case{"epochs: 010\n", "f:1:9: epochs: expected a whole number, found \"010\"; it could be octal"},
      Case{"epochs: 0o17\n", "f:1:9: epochs: expected a whole number, found \"0o17\"; it could be octal"},
      Case{"epochs: 0x10\n", "f:1:9: epochs: expected a whole number, found \"0x10\"; use digits only"},
      Case{"epochs: 1_000\n", "f:1:9: epochs: expected a whole number"},
      Case{"epochs: 1e3\n", "f:1:9: epochs: expected a whole number"},
      Case{"epochs: 1.0\n", "f:1:9: epochs: expected a whole number"},
      Case{"epochs: 1:30\n", "f:1:9: epochs: expected a whole number"}, Case{"epochs: -\n", "f:1:"},
      Case{"epochs: \"10\"\n", "f:1:9: epochs: expected a whole number, found \"10\" in quotes; remove the quotes"},
      Case{"epochs: \"ten\"\n", "f:1:9: epochs: expected a whole number, found \"ten\""},
      Case{"epochs:\n", "f:1:1: epochs: expected a whole number, found nothing"},
      Case{"epochs: ~\n", "f:1:1: epochs: expected a whole number, found nothing"},
      Case{"epochs: [1]\n", "f:1:9: epochs: expected a whole number, found a list"},
      Case{"epochs: {a: 1}\n", "f:1:9: epochs: expected a whole number, found a section"},
      Case{"epochs: 0\n", "f:1:9: epochs: must be 1 to 1000000, but is 0"},
      Case{"epochs: 99999999999\n", "f:1:9: epochs: does not fit into 32 bits"},
      Case{"seed: -1\n", "f:1:7: seed: must be >= 0, but is -1"},
      Case{"seed: 18446744073709551616\n", "f:1:7: seed: does not fit into 64 bits"},
      Case{"data: {max_samples: -1}\n", "f:1:21: data.max_samples: must be >= 0, but is -1"},
      Case{"data: {standardize: yes}\n", "f:1:21: data.standardize: expected true or false, found \"yes\""},
      Case{"data: {standardize: on}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"data: {standardize: True}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"data: {standardize: \"true\"}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"data: {standardize: 1}\n", "f:1:21: data.standardize: expected true or false"},
      Case{"name: no\n", "f:1:7: name: expected text, found \"no\", which reads as a boolean"},
      Case{"name: Off\n", "f:1:7: name: expected text"}, Case{"name: true\n", "f:1:7: name: expected text"},
      Case{"name:\n", "f:1:1: name: expected text, found nothing; write \"\" for none"},
      Case{"name: [a]\n", "f:1:7: name: expected text, found a list"},
      Case{"device: {precision: fp23}\n",
           "f:1:21: device.precision: expected one of auto, fp32, bf16, fp16, found \"fp23\"; did you mean fp32?"},
      Case{"device: {precision: [fp32]}\n", "f:1:21: device.precision: expected one of"},
      Case{"training: {optimizer: {lr: .nan}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: -.inf}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: nan}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: inf}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: 1e999}}\n", "f:1:28: training.optimizer.lr: expected a finite number"},
      Case{"training: {optimizer: {lr: lots}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: 0x1p3}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: 00.5}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: '0.5'}}\n", "f:1:28: training.optimizer.lr: expected a number"},
      Case{"training: {optimizer: {lr: -1}}\n", "f:1:28: training.optimizer.lr: must be 0 to 1000, but is -1"},
      Case{"host: {hidden: 64}\n", "f:1:16: host.hidden: expected a list, like [64, 64], found \"64\""},
      Case{"host: {hidden: [64, big]}\n", "f:1:21: host.hidden[1]: expected a whole number"},
      Case{"host: {hidden: [64, 0]}\n", "f:1:21: host.hidden[1]: must be 1 to 65536, but is 0"},
      Case{"growth: {slots: [r0c0, [r0c1]]}\n", "f:1:24: growth.slots[1]: expected text, found a list"},
      Case{"safety: {policy_deadline: 2}\n", "f:1:27: safety.policy_deadline: expected a duration with its unit"},
      Case{"safety: {policy_deadline: -2s}\n", "f:1:27: safety.policy_deadline: expected a duration"},
      Case{"checkpoint: {every: 3}\n", "f:1:21: checkpoint.every: expected a number of epochs or steps"},
      Case{"data: 3\n", "f:1:7: data: expected a section"}, Case{"data:\n", "f:1:1: data: expected a section"},
      Case{"- a\n", "f:1:1: expected a section"}, Case{"", "f:1:1: expected a section"},
      Case{"just text\n", "f:1:1: expected a section"},
      Case{"extends: other.yaml\n", "f:1:1: extends: only a file can extend another one"},
      Case{"data.kind: csv\n", "f:1:1: data.kind: unknown key"});
  CAPTURE(c.text);
  CHECK_THAT(problem_of(c.text), StartsWith(c.expected));
}

TEST_CASE("quotes are only to be removed where a number is in them") {
  CHECK(problem_of("epochs: \"ten\"\n") == "f:1:9: epochs: expected a whole number, found \"ten\"");
  CHECK(problem_of("epochs: \"1.5\"\n") == "f:1:9: epochs: expected a whole number, found \"1.5\"");
  CHECK_THAT(problem_of("training: {optimizer: {lr: '0.5'}}\n"), ContainsSubstring("in quotes; remove the quotes"));
}

TEST_CASE("a name or a path with a control character is refused, and the character is not printed") {
  const std::string text = GENERATE("runs_dir: \"a\\0b\"\n", "data: {kind: csv, path: \"a\\e[31m\"}\n",
                                    "data: {kind: csv, path: x, validation_path: \"\\x9b\"}\n",
                                    "growth: {slots: [\"r0c0\\n\"]}\n", "device: {kind: \"cpu\\x7f\"}\n");
  CAPTURE(text);
  const std::string problem = problem_of(text);
  CHECK_THAT(problem, ContainsSubstring(": expected text without control characters, found U+00"));
  for (const char c : problem) CHECK((static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f));
  CHECK(read_run_config_text("data: {kind: csv, path: \"Stra\\xdfe/\\u4e2d.csv\"}\n", "f").problems.empty());
}

TEST_CASE("an unknown key names the nearest known one, or where it belongs") {
  CHECK_THAT(problem_of("epohcs: 3\n"), ContainsSubstring("unknown key; did you mean epochs? Known here: name, seed"));
  CHECK_THAT(problem_of("training:\n  lr: 3\n"),
             StartsWith("f:2:3: training.lr: unknown key; there is training.optimizer.lr."));
  CHECK_THAT(problem_of("zzz: 3\n"), ContainsSubstring("unknown key; known here: name, seed, epochs"));
}

TEST_CASE("an assignment cannot extend a file") {
  for (const std::string text : {"extends=other.yaml", "extends=[a, b]", "extends="}) {
    CAPTURE(text);
    const LoadedConfig loaded = read_run_config_text("epochs: 3\n", "f", {text});
    REQUIRE(loaded.problems.size() == 1);
    CHECK(to_string(loaded.problems[0]) == "--set " + text + ": extends: only a file can extend another one");
  }
}

TEST_CASE("assignments come last and are read like the file") {
  const std::string text = "epochs: 3\nhost: {hidden: [8]}\n";
  const LoadedConfig loaded = read_run_config_text(
      text, "f", {"epochs=4", "training.optimizer.lr=0.5", "host.hidden=[1, 2, 3]", "name=\"yes\"", "data.path="});
  REQUIRE(loaded.problems.empty());
  CHECK(loaded.config.epochs == 4);
  CHECK(loaded.config.training.optimizer.lr == 0.5);
  CHECK(loaded.config.host.hidden == std::vector<std::int64_t>{1, 2, 3});
  CHECK(loaded.config.name == "yes");
  CHECK(loaded.config.data.path.empty());
  CHECK(to_string(loaded.origins.at("epochs")) == "--set epochs=4");
  CHECK(loaded.origins.at("host.hidden").file == "--set host.hidden=[1, 2, 3]");
  CHECK_FALSE(loaded.origins.contains("seed"));
}

TEST_CASE("a wrong assignment is refused and names itself") {
  struct Case {
    std::string assignment, expected;
  };
  const Case c = GENERATE(Case{"epochs=many", "--set epochs=many: epochs: expected a whole number"},
                          Case{"epohcs=3", "--set epohcs=3: epohcs: unknown key; did you mean epochs?"},
                          Case{"data.knd=csv", "--set data.knd=csv: data.knd: unknown key; did you mean kind?"},
                          Case{"epochs", "--set epochs: write --set key=value"},
                          Case{"=3", "--set =3: write --set key=value"}, Case{"epochs=[", "--set epochs=[: "},
                          Case{"epochs.x=3", "--set epochs.x=3: epochs: expected a whole number"},
                          Case{"data=3", "--set data=3: data: expected a section"}, Case{"..=3", "--set ..=3"},
                          Case{"epochs={a: 1, a: 2}", "--set epochs={a: 1, a: 2}"});
  CAPTURE(c.assignment);
  const LoadedConfig loaded = read_run_config_text("name: a\n", "f", {c.assignment});
  REQUIRE_FALSE(loaded.problems.empty());
  CHECK_THAT(to_string(loaded.problems[0]), StartsWith(c.expected));
}

TEST_CASE("a long assignment is named by its beginning, and its value is not repeated whole") {
  const std::string letters(50'000, 'x'), fewer(5'000, 'x'), digits(5'000, '9');
  const std::string assignment = GENERATE_COPY(
      letters, letters + "=3", "training." + letters + "=3", "epochs=" + letters, "epochs=" + fewer, "epochs=" + digits,
      "seed=-" + digits, "training.optimizer.lr=1" + digits.substr(0, 200), "name=" + fewer, "device.kind=" + fewer,
      "host.modules=[" + fewer + "]", "host.modules=[r0c0=" + fewer + "]", "growth.slots=[" + fewer + "]",
      "growth.blueprints=[" + fewer + ", " + fewer.substr(1) + "]", "growth.slot_alpha=[" + fewer + "]",
      "growth.aggregation.classes=[" + fewer + "]", "data.kind=!" + fewer + " x",
      "data={" + fewer.substr(0, 1'000) + ": 1, " + fewer.substr(0, 1'000) + ": 1}");
  const LoadedConfig loaded = read_run_config_text("name: a\n", "f", {assignment});
  REQUIRE_FALSE(loaded.problems.empty());
  for (const Problem& problem : loaded.problems) {
    const std::string text = to_string(problem);
    CAPTURE(text.substr(0, 1000));
    CHECK(problem.place.file == "--set " + assignment.substr(0, 60) + "...");
    CHECK(text.size() < 600);
  }
}

TEST_CASE("a run file builds on another one") {
  const Folder folder;
  folder.write("base/base.yaml", "epochs: 3\nseed: 5\ntraining: {optimizer: {lr: 0.5, momentum: 0.1}}\n");
  const std::string run =
      folder.write("run.yaml", "extends: base/base.yaml\nseed: 7\ntraining: {optimizer: {lr: 0.25}}\n");
  const LoadedConfig loaded = read_run_config(run);
  REQUIRE(loaded.problems.empty());
  CHECK(loaded.config.epochs == 3);
  CHECK(loaded.config.seed == 7);
  CHECK(loaded.config.training.optimizer.lr == 0.25);
  CHECK(loaded.config.training.optimizer.momentum == 0.1);
  CHECK_THAT(loaded.origins.at("epochs").file, ContainsSubstring("base/base.yaml"));
  CHECK(loaded.origins.at("seed") == Place{run, 2, 7});
}

TEST_CASE("what is extended may extend a further file, each relative to itself; the nearer wins") {
  const Folder folder;
  folder.write("far/farthest.yaml", "epochs: 3\nseed: 5\nname: far\nhost: {hidden: [4, 4]}\n");
  folder.write("near/base.yaml", "extends: ../far/farthest.yaml\nseed: 6\nname: near\n");
  const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: near/base.yaml\nname: run\n"));
  REQUIRE(loaded.problems.empty());
  CHECK(loaded.config.epochs == 3);
  CHECK(loaded.config.seed == 6);
  CHECK(loaded.config.name == "run");
  CHECK(loaded.config.host.hidden.size() == 2);
  CHECK_THAT(loaded.origins.at("epochs").file, ContainsSubstring("farthest.yaml"));
  CHECK_THAT(loaded.origins.at("seed").file, ContainsSubstring("base.yaml"));
}

TEST_CASE("files that extend each other in a circle are reported, with the circle") {
  const Folder folder;
  const std::string run = folder.write("run.yaml", "extends: a.yaml\n");
  folder.write("a.yaml", "extends: ./b.yaml\nseed: 2\n");
  const std::string here = std::filesystem::path(run).parent_path().filename().string();
  folder.write("b.yaml", "epochs: 2\nextends: ../" + here + "/a.yaml\n");
  const LoadedConfig loaded = read_run_config(run);
  REQUIRE(loaded.problems.size() == 1);
  const std::string told = to_string(loaded.problems[0]);
  CHECK_THAT(told, ContainsSubstring("b.yaml:2:10: extends: includes itself: "));
  CHECK_THAT(told, ContainsSubstring("a.yaml -> "));
  CHECK(told.find("run.yaml") == std::string::npos);
  const LoadedConfig itself = read_run_config(folder.write("self.yaml", "extends: self.yaml\n"));
  REQUIRE(itself.problems.size() == 1);
  CHECK_THAT(itself.problems[0].text, ContainsSubstring("includes itself"));
}

TEST_CASE("a chain of files has an end") {
  const Folder folder;
  const auto file = [](int i) { return "f" + std::to_string(i) + ".yaml"; };
  for (int i = 1; i <= 17; ++i) {
    folder.write(file(i), i == 1 ? "seed: 9\n" : "extends: " + file(i - 1) + "\n");
  }
  const LoadedConfig fits = read_run_config(folder.write("run.yaml", "extends: f15.yaml\n"));
  CHECK(fits.problems.empty());
  CHECK(fits.config.seed == 9);
  const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: f16.yaml\n"));
  REQUIRE(loaded.problems.size() == 1);
  CHECK_THAT(to_string(loaded.problems[0]),
             ContainsSubstring("f2.yaml:1:10: extends: is the 16th file of a chain of extends"));
}

TEST_CASE("what is extended must be one good file") {
  const Folder folder;
  folder.write("further.yaml", "seed: 1\nname: a/b\n");
  folder.write("base.yaml", "extends: further.yaml\nepochs: 0\n");
  SECTION("problems of all files, the farthest first") {
    const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: base.yaml\nseed: x\n"));
    REQUIRE(loaded.problems.size() == 3);
    CHECK_THAT(to_string(loaded.problems[0]), ContainsSubstring("further.yaml:2:7: name: must be"));
    CHECK_THAT(to_string(loaded.problems[1]), ContainsSubstring("base.yaml:2:9: epochs: must be 1"));
    CHECK_THAT(to_string(loaded.problems[2]), ContainsSubstring("run.yaml:2:7: seed: expected"));
  }
  SECTION("missing") {
    const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "seed: 3\nextends: none.yaml\n"));
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(to_string(loaded.problems[0]), ContainsSubstring("run.yaml:2:10: extends: ") &&
                                                  ContainsSubstring("/none.yaml cannot be opened: No such") &&
                                                  ContainsSubstring("relative to the folder of this one"));
  }
  SECTION("missing farther on") {
    folder.write("base.yaml", "extends: 5\n");
    const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: base.yaml\n"));
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(to_string(loaded.problems[0]),
               ContainsSubstring("base.yaml:1:10: extends: ") && ContainsSubstring("/5 cannot be opened"));
  }
  SECTION("a folder") {
    const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: .\n"));
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(to_string(loaded.problems[0]),
               ContainsSubstring("run.yaml:1:10: extends: ") && ContainsSubstring(" is a folder; name a run file"));
  }
  SECTION("a named pipe, or a device") {
    REQUIRE(mkfifo((folder.path / "pipe").c_str(), 0600) == 0);
    const std::string name = GENERATE("pipe", "/dev/null");
    const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: " + name + "\n"));
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(to_string(loaded.problems[0]), ContainsSubstring(" is not a regular file; name a run file"));
  }
  SECTION("no name") {
    const std::string nothing = GENERATE("seed: 1\nextends: \"\\0\"\n", "seed: 1\nextends: \"\"\n",
                                         "seed: 1\nextends: ~\n", "seed: 1\nextends:\n");
    const LoadedConfig loaded = read_run_config(folder.write("run.yaml", nothing));
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(to_string(loaded.problems[0]),
               ContainsSubstring("run.yaml:2:") &&
                   ContainsSubstring(": extends: expected the name of one file, like extends: base.yaml"));
  }
  SECTION("a list") {
    const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: [a, b]\n"));
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(loaded.problems[0].text, ContainsSubstring("expected the name of one file"));
  }
}

// Compiled programs are native code: a file from elsewhere must not say where they come from.
TEST_CASE("the folder of compiled programs is refused in a run file and on --set, and the way out is named") {
  for (const char* text : {"step: {compile: {cache_dir: /tmp/x}}\n", "step:\n  compile:\n    cache_dir: [x]\n"}) {
    CHECK_THAT(problem_of(text), ContainsSubstring("step.compile.cache_dir") && ContainsSubstring("native code") &&
                                     ContainsSubstring("--cache-dir or ESPER_CACHE"));
  }
  const auto set = read_run_config_text("seed: 1\n", "f", {"step.compile.cache_dir=/tmp/x"});
  REQUIRE(set.problems.size() == 1);
  CHECK_THAT(to_string(set.problems[0]), ContainsSubstring("--cache-dir"));
}

TEST_CASE("a run of an earlier version has that field in its config.yaml: it is ignored, with a warning") {
  const std::string text = "step: {compile: {cache_dir: /tmp/x, ahead: 3}}\n";
  const auto of_run = read_run_config_text(text, "f", {}, DocumentKind::kOfRun);
  CHECK(of_run.problems.empty());
  REQUIRE(of_run.warnings.size() == 1);
  CHECK_THAT(to_string(of_run.warnings[0]),
             StartsWith("f:1:") && ContainsSubstring("is ignored") && ContainsSubstring("--cache-dir"));
  CHECK(of_run.config.step.compile.ahead == 3);
  // What such a run wrote where nothing was asked for.
  const auto empty = read_run_config_text("step: {compile: {cache_dir: \"\"}}\n", "f", {}, DocumentKind::kOfRun);
  CHECK((empty.problems.empty() && empty.warnings.empty()));
  CHECK(read_run_config_text("step: {compile: {cache_dir: \"\"}}\n", "f").problems.empty());
  // The command line is no document of the run.
  CHECK(read_run_config_text(text, "f", {"step.compile.cache_dir=y"}, DocumentKind::kOfRun).problems.size() == 1);
}

TEST_CASE("nothing of a file that is extended but is no run file is printed") {
  const Folder folder;
  const std::string secret = GENERATE("root:$6$SECRET:19000:0:99999:7:::\ndaemon:*SECRET:::\n", "SECRET\n", "[SECRET\n",
                                      "- SECRET\n", "*SECRET\n", "epochs: 3\nSECRET: 4\n", "a: \"\\S SECRET\"\n",
                                      "SECRET: 1\nSECRET: 2\n", "!SECRET x\n", "SECRET\1\n");
  const std::string base = folder.write("shadow", secret);
  const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: shadow\n"));
  REQUIRE(loaded.problems.size() == 1);
  const std::string problem = to_string(loaded.problems[0]);
  CHECK_THAT(problem, ContainsSubstring("run.yaml:1:10: extends: " + base + " is not a run file (line ") &&
                          ContainsSubstring("esper config check " + base) && !ContainsSubstring("SECRET"));
}

TEST_CASE("a misspelt key of an extended file is named as one of the run file's own") {
  const Folder folder;
  folder.write("base.yaml", "epohcs: 3\n");
  const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: base.yaml\n"));
  REQUIRE(loaded.problems.size() == 1);
  CHECK_THAT(to_string(loaded.problems[0]),
             ContainsSubstring("base.yaml:1:1: epohcs: unknown key; did you mean epochs?"));
}

// Data that is too large for the repository is named by --set data.path.
TEST_CASE("every run file of the project loads, but for a path that the user gives") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ESPER_SOURCE_DIR "/configs/run")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    for (const Problem& problem : read_run_config(entry.path().string()).problems) {
      CAPTURE(to_string(problem));
      CHECK(problem.path == "data.path");
    }
  }
  CHECK(count >= 1);
}
