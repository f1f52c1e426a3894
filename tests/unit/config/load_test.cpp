#include "config/loading/load.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

namespace esper::test::load_test {

using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

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

TEST_CASE("extends is among the known keys of a file's top level, and not of what cannot extend") {
  const Folder folder;
  const auto problems = read_run_config(folder.write("a.yaml", "extend: b.yaml\nzzz: 1\n"), {"zzz=1"}).problems;
  REQUIRE(problems.size() == 3);
  CHECK_THAT(problems[0].text,
             ContainsSubstring("did you mean extends? Known here: name, seed") && EndsWith(", telemetry, extends"));
  CHECK_THAT(problems[1].text, EndsWith(", telemetry, extends"));
  CHECK_THAT(problems[2].text, EndsWith(", telemetry"));
  CHECK_THAT(read_run_config_text("zzz: 1\n", "f").problems.at(0).text, EndsWith(", telemetry"));
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

TEST_CASE("a run file without keys has all defaults, with a warning") {
  const Folder folder;
  for (const char* text : {"", "\n", "# nothing yet\n", "---\n"}) {
    CAPTURE(text);
    const std::string file = folder.write("run.yaml", text);
    const LoadedConfig loaded = read_run_config(file, {"epochs=3"});
    CHECK(loaded.problems.empty());
    CHECK(loaded.config.epochs == 3);
    CHECK(loaded.config.data.kind == RunConfig().data.kind);
    REQUIRE(loaded.warnings.size() == 1);
    CHECK_THAT(to_string(loaded.warnings[0]), ContainsSubstring(file) && ContainsSubstring("has no keys"));
    CHECK(read_run_config_text(text, "f", {}, DocumentKind::kOfRun).problems.size() == 1);
  }
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

TEST_CASE("a misspelt extends of a file within a chain is named, with the key that is meant") {
  const Folder folder;
  folder.write("farthest.yaml", "seed: 5\n");
  const std::string middle = folder.write("middle.yaml", "extend: farthest.yaml\nepochs: 3\n");
  const LoadedConfig loaded = read_run_config(folder.write("run.yaml", "extends: middle.yaml\n"));
  REQUIRE(loaded.problems.size() == 1);
  CHECK_THAT(to_string(loaded.problems[0]),
             ContainsSubstring(middle + ":1:1: extend: unknown key; did you mean extends?"));
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

}  // namespace esper::test::load_test
