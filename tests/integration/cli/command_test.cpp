#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>

#include "cli.h"

namespace esper::test::command_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

const std::string kReference = ESPER_SOURCE_DIR "/configs/run/reference.yaml";

// The front with an engine folder that is empty: a copy of the binary somewhere else.
std::string binary_without_engine(const TemporaryFolder& folder) {
  std::filesystem::create_directories(folder.path / "bin");
  std::filesystem::copy_file(binary(), folder.path / "bin" / "esper");
  return (folder.path / "bin" / "esper").string();
}

}  // namespace

TEST_CASE("a command line that makes no sense exits 2 and says why") {
  struct Case {
    std::vector<std::string> arguments;
    std::string expected;
  };
  const Case c = GENERATE(
      Case{{"trian"}, "esper has no command \"trian\"; did you mean train?"},
      Case{{"config", "chekc"}, "esper config has no command \"chekc\"; did you mean check?"},
      Case{{"policy", "serv"}, "esper policy has no command \"serv\"; commands: explain, replay, swap"},
      Case{{"zzz"}, "esper has no command \"zzz\"; commands: train, evaluate, predict, export"},
      Case{{"config"}, "A subcommand is required"}, Case{{"config", "check"}, "file is required"},
      Case{{"config", "diff", "a"}, "second is required"}, Case{{"topo", "diff", "a", "1"}, "second is required"},
      Case{{"config", "check", "a", "--nope"}, "esper config check does not take \"--nope\""},
      Case{{"train", "--confg", "a", "b"}, "does not take \"--confg\" (did you mean --config?), \"a\""},
      Case{{"jobs", "--idz"}, "esper jobs does not take \"--idz\"\nTry"},
      Case{{"evaluate", "--set", "device.kind=cpu", "lr=0.1/"},
           "run is required; \"lr=0.1/\" was read as an assignment of --set; write ./lr=0.1/, or put it before --set"},
      Case{{"config", "check", "--set", "epochs=3", "run=1.yaml"},
           "file is required; \"run=1.yaml\" was read as an assignment of --set; write ./run=1.yaml, or put it before"},
      Case{
          {"config", "check", "--set", "epochs=3", "seed=2", "run=1.yaml"},
          "file is required; \"seed=2\", \"run=1.yaml\" were read as assignments of --set; write a path among them as"},
      Case{{"evaluate", "--chekpoint"}, "run is required; esper evaluate does not take \"--chek"},
      Case{{"--nope"}, "--nope"}, Case{{"config", "check", "a", "--set"}, "--set"},
      Case{{"set", "a", "fast", "b=1", "="}, "\"fast\", \"=\" are not KEY=VALUE, like training.optimizer.lr=0.01"},
      Case{{"completion", "tcsh"}, "tcsh"}, Case{{"train"}, "--config"},
      Case{{"jobs", "--state", ""}, "--state: is empty"}, Case{{"jobs", "--name", ""}, "--name: is empty"},
      Case{{"daemon", "--stop-grace", ""}, "--stop-grace: is empty"},
      Case{{"daemon", "--restart-delay", ""}, "--restart-delay: is empty"},
      Case{{"train", "--resume", ""}, "--resume: is empty"}, Case{{"bench", "--config", ""}, "--config: is empty"},
      Case{{"evaluate", "a", "--checkpoint", ""}, "--checkpoint: is empty"},
      Case{{"predict", "a", "--checkpoint", ""}, "--checkpoint: is empty"},
      Case{{"export", "a", "--format", "safetensors", "--checkpoint", ""}, "--checkpoint: is empty"},
      Case{{"train", "--resume", "a", "--run-dir", "b"}, "excludes"},
      Case{{"policy", "swap", "a", "--policy", "ensemble"},
           "--policy \"ensemble\" is neither a kind of policy nor a file; kinds: none, heuristic, periodic, random, "
           "schedule, gnn, process"},
      Case{{"evaluate", "/nonexistent"}, "/nonexistent is not a run folder"});
  CAPTURE(c.arguments);
  const Finished text = run_esper(c.arguments);
  CHECK(text.exit_code == 2);
  CHECK(text.out.empty());
  CHECK_THAT(text.err, StartsWith("esper: ") && ContainsSubstring(c.expected));

  std::vector<std::string> with_json = c.arguments;
  with_json.push_back("--json");
  if (c.arguments.back() == "--set") return;  // would take --json for its value
  const Finished json = run_esper(with_json);
  CHECK(json.exit_code == 2);
  const nlohmann::json error = json_of(json)["error"];
  CHECK(error["code"] == "config");
  CHECK(error["exit_code"] == 2);
  CHECK_THAT(error["text"].get<std::string>(), ContainsSubstring(c.expected));
  CHECK(error["problems"].empty());
  CHECK_THAT(json.err, StartsWith("esper: ") && ContainsSubstring(c.expected));  // for logs, beside the object
}

TEST_CASE("--json before a command is that command's") {
  CHECK(json_of(run_esper({"--json", "config", "check", kReference}))["ok"] == true);
  CHECK(json_of(run_esper({"--json", "telemetry", "list"})).is_array());
  CHECK(json_of(run_esper({"--json", "--version"})).contains("version"));
  const Finished wrong = run_esper({"--json", "config", "check", "no-such-file"});
  CHECK(wrong.exit_code == 2);
  CHECK(json_of(wrong)["error"]["exit_code"] == 2);
}

TEST_CASE("an error cannot steer the terminal") {
  const Finished wrong = run_esper({"config", "check", "no\x1b[2J\x7f\xC2\x9b\xff.yaml"});
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("no\\x1b[2J\\x7f\\u009b\\xff.yaml"));
  const Finished option = run_esper({"train", "--no\x1bpe"});
  CHECK_THAT(option.err, ContainsSubstring("--no\\x1bpe"));
  const Finished field = run_esper({"config", "check", kReference, "--set", "na\x1b\nme=1", "--json"});
  CHECK(field.exit_code == 2);
  for (const auto* text : {&wrong.err, &option.err, &field.err, &field.out}) {
    CHECK(text->find_first_of("\x1b\x7f\x9b") == std::string::npos);
  }
}

TEST_CASE("an argument of any length makes no long error") {
  const std::string longest(50'000, 'a');
  using Words = std::vector<std::string>;
  for (const Words& command : {Words{"train", "--config", longest}, Words{"--" + longest}, Words{"receipt", longest}}) {
    const Finished finished = run_esper(command);
    CHECK(finished.exit_code == 2);
    CHECK(finished.err.size() < 12'000);
  }
}

TEST_CASE("a further assignment of --set that names no field is reported as the first one would be") {
  const Finished finished = run_esper({"config", "check", kReference, "--set", "epochs=0", "epohcs=2", "bogus=2"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("--set epochs=0: epochs: must be 1") &&
                               ContainsSubstring("--set epohcs=2: epohcs: unknown key; did you mean epochs?") &&
                               ContainsSubstring("--set bogus=2: bogus: unknown key; known here: name"));
}

TEST_CASE("a usage error names the help of the command that was meant") {
  CHECK_THAT(run_esper({"bench", "--nope"}).err, ContainsSubstring("Try `esper bench --help`."));
  CHECK_THAT(run_esper({"baseline", "save", "--rounds", "x"}).err, ContainsSubstring("`esper baseline save --help`"));
  CHECK_THAT(run_esper({"config", "chekc"}).err, ContainsSubstring("Try `esper config --help`."));
  CHECK_THAT(run_esper({"--nope"}).err, ContainsSubstring("Try `esper --help`."));
}

TEST_CASE("a result that cannot be written is an error of the command") {
  const auto in_shell = [](const std::string& line) { return run_program({"/bin/bash", "-c", line}); };
  for (const char* words : {"--version", "--help", "bench --help", "config schema", "telemetry list --json",
                            "config check nowhere.yaml --json", "completion bash"}) {
    CAPTURE(words);
    const bool refused = std::string(words).find("nowhere") != std::string::npos;
    const Finished full = in_shell(binary() + " " + words + " > /dev/full");
    CHECK(full.exit_code == (refused ? 2 : 6));
    CHECK_THAT(full.err, ContainsSubstring("No space left on device"));
    if (refused) CHECK_THAT(full.err, ContainsSubstring("nowhere.yaml"));
    const Finished closed = in_shell(binary() + " " + words + " >&-");
    CHECK(closed.exit_code == (refused ? 2 : 6));
  }
  // Nobody reads: no words about it, and the status that SIGPIPE would have left.
  const Finished unread = in_shell(with_reader_gone(binary() + " telemetry list --json"));
  CHECK(unread.exit_code == 141);
  CHECK(unread.err.empty());
}

TEST_CASE("baselines that are damaged are named, and the others are shown") {
  const TemporaryFolder folder;
  const auto machine = folder.path / "perf" / "machine";
  std::filesystem::create_directories(machine / "a_folder.json");
  const std::string dir = (folder.path / "perf").string();
  const std::string whole =
      R"({"scenario": "mlp", "environment": {"machine": "machine", "fingerprint": {"cpu": "X"},
          "now": {"time": "2026-03-01T10:15:00Z", "commit": "0123456789ab"}},
          "workload": {"hash": "0011223344556677", "fields": {}}, "noise": {"floor": 0.01},
          "lanes": [{"lane": "eager", "rounds_us": [1.5]}], "ratios": {"eager/hand": 0.9}})";
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(machine / name, std::ios::binary) << text;
    return (machine / name).string();
  };
  const std::string good = put("mlp.json", whole);
  const std::vector<std::string> damaged = {put("cnn.json", whole.substr(0, 200)), put("empty.json", ""),
                                            put("ratio.json", R"({"scenario": "mlp", "ratios": {"a/b": "x"}})"),
                                            (machine / "a_folder.json").string()};
  for (const std::string& path : damaged) {
    CAPTURE(path);
    for (const auto& command : {std::vector<std::string>{"baseline", "show", path}, {"baseline", "diff", good, path}}) {
      const Finished finished = run_esper(command);
      CHECK(finished.exit_code == 3);
      CHECK_THAT(finished.err, ContainsSubstring(path));
    }
  }
  CHECK(run_esper({"baseline", "show", "machine/nothing", "--dir", dir}).exit_code == 2);
  const Finished list = run_esper({"baseline", "list", "--dir", dir});
  CHECK(list.exit_code == 3);
  CHECK_THAT(list.out, ContainsSubstring("machine/mlp") && !ContainsSubstring("cnn"));
  for (const std::string& path : damaged) CHECK_THAT(list.err, ContainsSubstring(path));
  const auto json = json_of(run_esper({"baseline", "list", "--dir", dir, "--json"}));
  CHECK(json["baselines"].size() == 1);
  CHECK(json["damaged"].size() == damaged.size());
  CHECK(run_esper({"baseline", "show", good}).exit_code == 0);
}

TEST_CASE("flags that would have no part in a measurement are refused before it begins") {
  struct Case {
    std::vector<std::string> arguments;
    std::string expected;
  };
  const Case c = GENERATE(Case{{"bench", "--scenario", "growth", "--lanes", "eager"}, "--set step.lane=NAME"},
                          Case{{"bench", "--scenario", "growth", "--peer", "python"}, "--peer does not apply"},
                          Case{{"baseline", "save", "--scenario", "growth"}, "no ratios"},
                          Case{{"bench", "--scenario", "policy", "--lanes", "eager"}, "--lanes does not apply"},
                          Case{{"bench", "--scenario", "policy", "--compile-mode", "default"}, "--no-compile"},
                          Case{{"bench", "--scenario", "policy", "--counts"}, "--counts does not apply"},
                          Case{{"bench", "--scenario", "policy", "--set", "policy.kind=none"}, "leave it at gnn"},
                          Case{{"baseline", "check", "--scenario", "policy"}, "no ratios"},
                          Case{{"bench", "--counts", "--peer", "python"}, "excludes"},
                          Case{{"baseline", "save", "--rounds", "3"}, "--rounds: Value 3 not in range"},
                          Case{{"bench", "--lanes", "eager,eager"}, "eager is listed twice"});
  CAPTURE(c.arguments);
  const Finished finished = run_esper(c.arguments);
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring(c.expected));
}

TEST_CASE("an amount of memory that is empty is refused, and the reason shows one that is not") {
  const TemporaryFolder folder;
  const std::string state_dir = (folder.path / "daemon").string();
  for (const auto& words :
       {std::vector<std::string>{"job", "edit", "1"}, {"submit", kReference, "--no-daemon-start"}}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--state-dir", state_dir, "--memory", ""});
    const Finished refused = run_esper(command);
    CAPTURE(words.front());
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring("--memory: is empty; it needs a whole number and a unit, like 4GiB"));
  }
}

TEST_CASE("no command prints the help on stderr and exits 2") {
  const Finished finished = run_esper({});
  CHECK(finished.exit_code == 2);
  CHECK(finished.out.empty());
  CHECK_THAT(finished.err, ContainsSubstring("Usage: esper"));
}

TEST_CASE("the version tells how it was built") {
  const Finished text = run_esper({"--version"});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, StartsWith("esper 0.") && ContainsSubstring("libtorch"));
  const nlohmann::json facts = json_of(run_esper({"--version", "--json"}));
  for (const char* key : {"version", "commit", "compiler", "build_type", "libtorch"}) {
    CAPTURE(key);
    CHECK_FALSE(facts[key].get<std::string>().empty());
  }
  CHECK(facts["cuda_side"].is_boolean());
}

TEST_CASE("a config mistake is found before the engine is looked for") {
  const TemporaryFolder folder;
  const std::string alone = binary_without_engine(folder);
  const Finished finished = run_program({alone, "train", "--config", kReference, "--set", "epochs=0"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("--set epochs=0: epochs: must be 1"));
}

TEST_CASE("without the engine a command that needs it says so and exits 6") {
  const TemporaryFolder folder;
  const std::string alone = binary_without_engine(folder);
  std::filesystem::create_directories(folder.path / "run");
  std::filesystem::copy_file(kReference, folder.path / "run" / "config.yaml");
  const std::string run = (folder.path / "run").string();
  const std::vector<std::vector<std::string>> commands{{alone, "doctor"},
                                                       {alone, "train", "--config", kReference},
                                                       {alone, "evaluate", run},
                                                       {alone, "train", "--resume", run}};
  for (std::vector<std::string> command : commands) {
    CAPTURE(command);
    const Finished text = run_program(command);
    CHECK(text.exit_code == 6);
    CHECK_THAT(text.err, ContainsSubstring("the engine is missing") && ContainsSubstring("libesper_engine.so"));
    command.push_back("--json");
    CHECK(json_of(run_program(command))["error"]["code"] == "resources");
  }
}

TEST_CASE("an engine that does not load is named, with the way out") {
  const TemporaryFolder folder;
  const std::string alone = binary_without_engine(folder);
  std::filesystem::create_directories(folder.path / "lib");
  std::ofstream(folder.path / "lib" / "libesper_engine.so") << "not a library";
  const Finished finished = run_program({alone, "doctor"});
  CHECK(finished.exit_code == 6);
  CHECK_THAT(finished.err, ContainsSubstring("cannot load the engine") && ContainsSubstring("scripts/bootstrap"));
}

TEST_CASE("a mistake in ESPER_FAULTS is reported at once") {
  const Finished finished = run_esper({"--version"}, {"ESPER_FAULTS=storage.write"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("ESPER_FAULTS"));
}

TEST_CASE("telemetry diff counts what became of the reference's names, and says what is lost") {
  const std::string reference = ESPER_SOURCE_DIR "/baselines/telemetry/reference.json";
  const Finished proof = run_esper({"telemetry", "diff", reference, "table"});
  CHECK(proof.exit_code == 0);
  CHECK_THAT(proof.out,
             ContainsSubstring("only in B") && ContainsSubstring("B has all names that A marks as reported: "));
  const nlohmann::json counts = json_of(run_esper({"telemetry", "diff", reference, "table", "--json"}))["statuses"];
  const int reported = counts["reported"], planned = counts["planned"], not_applicable = counts["does_not_apply"];
  CHECK(reported + planned + not_applicable == 270);
  CHECK_THAT(proof.out,
             ContainsSubstring("\nreported " + std::to_string(reported) + ", planned " + std::to_string(planned) +
                               ", does not apply " + std::to_string(not_applicable) + "\n"));
  CHECK(proof.out.find("only in A") == std::string::npos);

  const TemporaryFolder folder;
  const std::string list = folder.write(
      "list.json", R"([{"name": "tolaria.training.loss", "kind": "gauge", "unit": "nats", "labels": ["colour"]},
                       {"name": "tolaria.lost", "kind": "event"}])");
  const Finished lacks = run_esper({"telemetry", "diff", list, "table"});
  CHECK(lacks.exit_code == 1);
  CHECK_THAT(lacks.out, ContainsSubstring("only in A, 1:\n  tolaria.lost (event)\n"));
  CHECK_THAT(lacks.out, ContainsSubstring("  tolaria.training.loss: unit nats -> loss\n"));
  CHECK_THAT(lacks.out, ContainsSubstring("  tolaria.training.loss: labels only in A: colour\n"));
  CHECK_THAT(lacks.out, ContainsSubstring("B lacks names of A\n"));
  const Finished json = run_esper({"telemetry", "diff", list, "table", "--json"});
  CHECK(json.exit_code == 1);
  const nlohmann::json told = json_of(json);
  CHECK(told["only_in_first"] == nlohmann::json::parse(R"([{"name": "tolaria.lost", "kind": "event"}])"));
  CHECK(told["different"][0]["unit"]["first"] == "nats");
  CHECK(told["different"][0]["labels_only_in_first"][0] == "colour");
  CHECK(told["second_has_all"] == false);
  CHECK(told["statuses"].is_null());

  const std::string run = folder.write(
      "telemetry.jsonl",
      R"({"packet_id":"p","metrics":[{"name":"tolaria.training.loss","value":1,"unit":"loss","attributes":{}}],)"
      R"("events":[],"system_health":{}})"
      "\n{\"torn");
  const Finished of_run = run_esper({"telemetry", "diff", folder.path.string(), "table"});
  CHECK(of_run.exit_code == 0);
  CHECK_THAT(of_run.out, ContainsSubstring("B has all names of A: 1 names"));
  CHECK_THAT(of_run.out, ContainsSubstring("incomplete input: " + run + " has 1 damaged lines"));
  CHECK(run_esper({"telemetry", "diff", folder.path.string() + "/none", "table"}).exit_code == 2);
}

TEST_CASE("telemetry diff fails on a name without a status, and on a status that is not so") {
  const TemporaryFolder folder;
  const auto diff = [&](const char* rows) {
    return run_esper({"telemetry", "diff", folder.write("list.json", rows), "table"});
  };
  const Finished silent = diff(R"([{"name": "tolaria.lost", "kind": "event", "status": "planned: safety"},
                                   {"name": "tolaria.training.loss", "kind": "gauge"}])");
  CHECK(silent.exit_code == 1);
  CHECK_THAT(silent.out, ContainsSubstring("without a status in A, 1:\n  tolaria.training.loss\n"));
  CHECK_THAT(silent.out, ContainsSubstring("\nreported 0, planned 1, does not apply 0\n"));

  const Finished modest = diff(R"([{"name": "tolaria.training.loss", "kind": "gauge", "status": "planned: tolaria"}])");
  CHECK(modest.exit_code == 1);
  CHECK_THAT(modest.out, ContainsSubstring("planned or does not apply in A, but in B, 1:\n  tolaria.training.loss\n"));

  const Finished boasting = diff(R"([{"name": "tolaria.lost", "kind": "event", "status": "reported"}])");
  CHECK(boasting.exit_code == 1);
  CHECK_THAT(boasting.out, ContainsSubstring("only in A, 1:\n  tolaria.lost (event)\n"));

  CHECK(diff(R"([{"name": "tolaria.lost", "kind": "event", "status": "perhaps"}])").exit_code == 3);
}

TEST_CASE("the bash completion offers what fits") {
  const TemporaryFolder folder;
  const std::string script = folder.write("esper.bash", run_esper({"completion", "bash"}).out);
  const auto offered = [&](const std::string& words, int position) {
    return run_program({"/bin/bash", "-c",
                        "source " + script + "; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(position) +
                            "; _esper; echo ${COMPREPLY[*]}"})
        .out;
  };
  CHECK(offered("esper tr", 1) == "train\n");
  CHECK(offered("esper config s", 2) == "show schema\n");
  CHECK(offered("esper se", 1) == "set\n");
  CHECK(offered("esper set RUN --j", 3) == "--json\n");
  CHECK(offered("esper train --r", 2) == "--run-dir --resume\n");
  CHECK(offered("esper train --config x --dry", 4) == "--dry-run\n");
  CHECK(offered("esper policy s", 2) == "swap show\n");  // serve is hidden, as is jobs --ids
  CHECK(offered("esper jobs --i", 2) == "\n");
}

TEST_CASE("completions for the other shells name every command") {
  const std::string shell = GENERATE("zsh", "fish");
  const Finished finished = run_esper({"completion", shell});
  CHECK(finished.exit_code == 0);
  for (const char* word : {"train", "evaluate", "config", "explain", "doctor", "completion", "resume"}) {
    CAPTURE(shell, word);
    CHECK_THAT(finished.out, ContainsSubstring(word));
  }
  CHECK(json_of(run_esper({"completion", shell, "--json"}))["script"] == finished.out);
}

}  // namespace esper::test::command_test
