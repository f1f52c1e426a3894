#include "esper/command_line.h"

#include <catch2/catch_test_macros.hpp>

#include "esper/run_options.h"

namespace esper::test::command_line_test {

using namespace esper;
using Words = std::vector<std::string>;

namespace {

// What is said of the words behind "esper check", which takes a file, --config, --set and --json.
std::string complaint_about(Words words) {
  CLI::App root("", "esper");
  ConfigOptions options;
  std::string config;
  CLI::App* command = root.add_subcommand("check", "");
  add_config_options(*command, options);
  command->add_option("--config", config, "");
  words.insert(words.begin(), "check");
  const Words parsed = with_separate_assignments(words);
  try {
    root.parse(Words(parsed.rbegin(), parsed.rend()));
  } catch (const CLI::ParseError&) {
    return unexpected_arguments(root, "esper check") + missing_behind_set(root, words);
  }
  return "none";
}

}  // namespace

TEST_CASE("further assignments behind one --set get one each") {
  CHECK(with_separate_assignments({"train", "--set", "epochs=1", "seed=2", "data.kind=csv", "--json"}) ==
        Words{"train", "--set", "epochs=1", "--set", "seed=2", "--set", "data.kind=csv", "--json"});
  CHECK(with_separate_assignments({"--set=epochs=1", "data.knid=csv"}) ==
        Words{"--set=epochs=1", "--set", "data.knid=csv"});
  CHECK(with_separate_assignments({"train", "--set", "epochs=1", "bogus=2", "batch_size=/x", "seed=3"}) ==
        Words{"train", "--set", "epochs=1", "--set", "bogus=2", "--set", "batch_size=/x", "--set", "seed=3"});
  CHECK(with_separate_assignments({"--set", "host.hidden=[8, 8]", "data.path=a=b c"}) ==
        Words{"--set", "host.hidden=[8, 8]", "--set", "data.path=a=b c"});
}

TEST_CASE("positional arguments stay what they are") {
  for (const Words& words : {Words{"check", "--set", "epochs=1", "run.yaml"},
                             {"check", "--set", "epochs=1", "runs/a=b.yaml"},
                             {"check", "--set", "epochs=1", "data.v2/x=1"},
                             {"check", "--set", "epochs=1", "Run=1.yaml"},
                             {"check", "--set", "epochs=1", "my-run=1", "seed=2"},
                             {"check", "--set", "epochs=1", "a b=1"},
                             {"check", "--set", "epochs=1", "-q", "=1"},
                             {"check", "epochs=1"},
                             {"check", "--set", "epochs=1", "run.yaml", "epochs=2"},
                             {"check", "--set", "epochs=1", "--", "epochs=2"},
                             {"check", "--set", "epochs=1", "--json", "epochs=2"},
                             {"check", "--set"}}) {
    CHECK(with_separate_assignments(words) == words);
  }
}

TEST_CASE("words that a command does not take are listed in their order, with the nearest that it takes") {
  CHECK(complaint_about({"file", "--jsno", "more", "--zzz"}) ==
        "esper check does not take \"--jsno\" (did you mean --json?), \"more\", \"--zzz\"");
  CHECK(complaint_about({"file", "b", "a"}) == "esper check does not take \"b\", \"a\"");
  CHECK(complaint_about({"file", "epocs=3"}) == "esper check does not take \"epocs=3\" (write --set epocs=3)");
  CHECK(complaint_about({"file", "other.yaml"}) ==
        "esper check does not take \"other.yaml\" (write --config other.yaml)");
  CHECK(complaint_about({"file", "--confg=x"}) == "esper check does not take \"--confg=x\" (did you mean --config?)");
  CHECK(complaint_about({"file", "-x"}) == "esper check does not take \"-x\"");
  CHECK(complaint_about({"--jsno"}) == "esper check does not take \"--jsno\" (did you mean --json?)");  // and no file
  CHECK(complaint_about({}) == "");
  CHECK(complaint_about({"file"}) == "none");
}

TEST_CASE("an option that is called as a field of the run file is written as an assignment") {
  CHECK(complaint_about({"file", "--epochs", "5"}) ==
        "esper check does not take \"--epochs\" (write --set epochs=VALUE), \"5\"");
  CHECK(complaint_about({"file", "--batch-size=16"}) ==
        "esper check does not take \"--batch-size=16\" (write --set data.batch_size=16)");
  CHECK(complaint_about({"file", "--training.optimizer.lr=1"}) ==
        "esper check does not take \"--training.optimizer.lr=1\" (write --set training.optimizer.lr=1)");
  CHECK(complaint_about({"file", "--device", "cpu"}) ==
        "esper check does not take \"--device\" (write --set device.KEY=VALUE), \"cpu\"");
  CHECK(complaint_about({"file", "--learning-rate=1"}) ==
        "esper check does not take \"--learning-rate=1\" (write --set training.optimizer.lr=1)");
  CHECK(complaint_about({"file", "--kind=csv"}) == "esper check does not take \"--kind=csv\"");  // several have one
  CHECK(complaint_about({"file", "configs"}) == "esper check does not take \"configs\"");
  CHECK(complaint_about({"file", "config"}) == "esper check does not take \"config\" (did you mean --config?)");
}

TEST_CASE("what became an assignment is named where a positional argument is missing, and only there") {
  CHECK(complaint_about({"--set", "epochs=1", "run=1.yaml"}) ==
        "\"run=1.yaml\" was read as an assignment of --set; write ./run=1.yaml, or put it before --set");
  CHECK(complaint_about({"--set=epochs=1", "seed=2", "run=1.yaml"}) ==
        "\"seed=2\", \"run=1.yaml\" were read as assignments of --set; write a path among them as ./PATH, or put it "
        "before --set");
  CHECK(complaint_about({"--set", "epochs=1"}) == "");
  CHECK(complaint_about({"file", "--set", "epochs=1", "seed=2", "-x"}) == "esper check does not take \"-x\"");
}

}  // namespace esper::test::command_line_test
