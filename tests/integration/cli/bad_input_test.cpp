// Every command on input that nobody should give it: an expected exit code and a word of the reason, no crash, no wait.
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <set>

#include "cli.h"
#include "support/patience.h"

namespace esper::test::bad_input_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

constexpr int kBug = 70;

// A folder with one of each kind of bad input, by these names.
struct BadInputs {
  TemporaryFolder folder;
  std::string path(const std::string& name) const { return (folder.path / name).string(); }
  BadInputs() {
    folder.write("empty", "");
    folder.write("unreadable", "epochs: 3\n");
    fs::permissions(path("unreadable"), fs::perms::none);
    std::string junk;
    for (int i = 0; i < 4096; ++i) junk += static_cast<char>(i * 37 + i / 256);
    folder.write("junk", junk);
    folder.write("escapes", "\033[31mred\033[0m: \a\n");
    fs::create_directory(path("folder"));
    if (mkfifo(path("pipe").c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
  }
  // What a user may name in place of a file or a run folder.
  Words names() const {
    Words names{path("missing"),
                path("empty"),
                path("junk"),
                path("escapes"),
                path("folder"),
                path("pipe"),
                path(std::string(300, 'n')),
                std::string(5000, 'p'),
                "\033[31m",
                "",
                "-",
                "/dev/null"};
    if (geteuid() != 0) names.push_back(path("unreadable"));  // root reads everything
    return names;
  }
};

// Neither a crash nor a wait, and a reason. Which of the codes depends on what the input is taken for.
void check_refused(const Words& words, const std::set<int>& codes) {
  CAPTURE(words);
  Words command = words;
  command.insert(command.begin(), binary());
  const Finished finished = run_program(command, {}, kPatience);
  CHECK_FALSE(finished.timed_out);
  CHECK(finished.exit_code != kBug);
  CHECK(codes.contains(finished.exit_code));
  CHECK_FALSE(finished.err.empty());
}

// A run folder in which one file is one of the bad inputs.
struct BadRun {
  TemporaryFolder folder;
  std::string path = folder.path.string();
  BadRun() { folder.write("config.yaml", "name: a\nepochs: 1\ndata: {kind: digits}\n"); }
};

}  // namespace

TEST_CASE("no command crashes on or waits for a path that is not what it should be") {
  const BadInputs inputs;
  const std::string good = ESPER_SOURCE_DIR "/configs/run/digits.yaml";
  for (const std::string& name : inputs.names()) {
    for (const Words& words : {Words{"config", "check", name},
                               {"config", "show", name},
                               {"config", "explain", name},
                               {"config", "diff", name, good},
                               {"config", "diff", good, name},
                               {"bench", "--config", name},
                               {"baseline", "save", "--config", name}}) {
      if (name != inputs.path("empty")) check_refused(words, {2});  // an empty run file has all defaults
    }
    check_refused({"telemetry", "diff", name, "table"}, {2, 3});
    check_refused({"baseline", "show", name + ".json"}, {2, 3});
    check_refused({"baseline", "diff", name + ".json", name + ".json"}, {2, 3});
    for (const Words& words : {Words{"topo", "log", name},
                               {"topo", "show", name},
                               {"topo", "diff", name, "1", "2"},
                               {"receipt", name, "seed-0001"},
                               {"why-slow", name},
                               {"evaluate", name},
                               {"fork", name + "@7"},
                               {"set", name, "training.optimizer.lr=0.1"},
                               {"train", "--resume", name}}) {
      check_refused(words, {2});
    }
  }
}

TEST_CASE("no command crashes on or waits for a bad file inside a run folder") {
  const BadInputs inputs;
  for (const std::string file : {"config.yaml", "journal", "telemetry.jsonl", "summary.json", "checkpoints"}) {
    for (const std::string kind : {"missing", "empty", "junk", "escapes", "folder", "pipe"}) {
      const BadRun run;
      const fs::path target = run.folder.path / file;
      fs::remove_all(target);
      if (kind == "pipe") REQUIRE(mkfifo(target.c_str(), 0600) == 0);
      if (kind == "folder") fs::create_directory(target);
      if (kind == "empty" || kind == "junk" || kind == "escapes") fs::copy_file(inputs.path(kind), target);
      CAPTURE(file, kind);
      for (const Words& words : {Words{"topo", "log", run.path},
                                 {"topo", "show", run.path},
                                 {"topo", "diff", run.path, "1", "2"},
                                 {"receipt", run.path, "seed-0001"},
                                 {"why-slow", run.path},
                                 {"telemetry", "diff", run.path, "table"}}) {
        check_refused(words, {2, 3, 5, 6});
      }
    }
  }
}

TEST_CASE("arguments of any length and content are refused with a reason") {
  const std::string good = ESPER_SOURCE_DIR "/configs/run/digits.yaml";
  const std::string huge(100'000, 'x');
  for (const std::string& word : {huge, "--" + huge, std::string("\033]0;title\a"), std::string("\xff\xfe"),
                                  std::string("a\nb"), std::string("--\x01"), std::string("-"), std::string()}) {
    for (const Words& words : {Words{word},
                               {"config", word},
                               {"config", "check", good, word},
                               {"config", "explain", good, word},
                               {"completion", word},
                               {"bench", "--scenario", word},
                               {"bench", "--rounds", word},
                               {"bench", "--lanes", word},
                               {"fork", word},
                               {"set", ".", word},
                               {"topo", "show", ".", "--at", word},
                               {"receipt", ".", word}}) {
      if (words == Words{"config", "explain", good, ""}) continue;  // explains every field
      check_refused(words, {2});
    }
    for (const std::string& assignment :
         Words{word, "runs_dir=" + word, "epochs=" + word, "data.path=" + word, word + "=1"}) {
      if (assignment == "data.path=") continue;     // the digits that come with Esper
      if (assignment == "runs_dir=a\nb") continue;  // a folded line: "a b"
      check_refused({"config", "check", good, "--set", assignment}, {2, 3});
    }
  }
}

}  // namespace esper::test::bad_input_test
