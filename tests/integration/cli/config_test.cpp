#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/gpu_present.h"
#include "cli.h"
#include "support/committed_file.h"

namespace esper::test::config_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

const std::string kReference = ESPER_SOURCE_DIR "/configs/run/reference.yaml";

constexpr const char* kTenMistakes =
    "name: on\n"
    "seed: -3\n"
    "epohcs: 5\n"
    "epochs: 012\n"
    "data: {kind: cvs, batch_size: 0, standardize: yes}\n"
    "host: {kind: cnn, kernel: 4}\n"
    "training: {optimizer: {lr: .nan}}\n"
    "safety: {policy_deadline: 2}\n";

}  // namespace

TEST_CASE("a good run file is OK") {
  const Finished text = run_esper({"config", "check", kReference});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, StartsWith("OK " + kReference));
  const nlohmann::json json = json_of(run_esper({"config", "check", kReference, "--json"}));
  CHECK(json["ok"] == true);
  CHECK(json["config_hash"].get<std::string>().size() == 16);
}

TEST_CASE("a run file without keys is OK, with a warning, and has all defaults") {
  const TemporaryFolder folder;
  const std::string file = folder.write("empty.yaml", "# nothing yet\n");
  const Finished checked = run_esper({"config", "check", file});
  CHECK(checked.exit_code == 0);
  CHECK_THAT(checked.out, StartsWith("OK " + file));
  CHECK_THAT(checked.out, ContainsSubstring("has no keys: it changes no default"));
  const std::string braces = folder.write("braces.yaml", "{}\n");
  CHECK(run_esper({"config", "show", file}).out == run_esper({"config", "show", braces}).out);
}

TEST_CASE("ten mistakes are printed all ten, with places, and exit 2") {
  const TemporaryFolder folder;
  const std::string file = folder.write("bad.yaml", kTenMistakes);
  const Finished text = run_esper({"config", "check", file});
  CHECK(text.exit_code == 2);
  CHECK(text.out.empty());
  CHECK_THAT(text.err, StartsWith("esper: 10 problems in the configuration\n"));
  CHECK_THAT(text.err, ContainsSubstring(file + ":4:9: epochs: expected a whole number, found \"012\""));

  const Finished json = run_esper({"config", "check", file, "--json"});
  CHECK(json.exit_code == 2);
  const nlohmann::json error = json_of(json)["error"];
  REQUIRE(error["problems"].size() == 10);
  CHECK(error["problems"][9]["path"] == "safety.policy_deadline");
  CHECK(error["problems"][9]["line"] == 8);
  CHECK(error["problems"][9]["column"] == 27);
  CHECK(error["problems"][9]["file"] == file);
  for (const char* command : {"show", "explain"}) CHECK(run_esper({"config", command, file}).exit_code == 2);
  CHECK(run_esper({"config", "diff", kReference, file}).exit_code == 2);
}

TEST_CASE("a missing run file exits 2 and is named") {
  const Finished finished = run_esper({"config", "check", "/nonexistent/run.yaml"});
  CHECK(finished.exit_code == 2);
  CHECK_THAT(finished.err, ContainsSubstring("/nonexistent/run.yaml: cannot be opened: No such file"));
}

TEST_CASE("data that are not there are a problem of config check, with the place, beside the others") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("run.yaml", "data: {kind: csv, path: no.csv, validation_path: /nonexistent, test_path: /none}\n");
  const Finished text = run_esper({"config", "check", file});
  CHECK(text.exit_code == 3);
  CHECK(text.out.empty());
  CHECK_THAT(text.err, ContainsSubstring(file + ":1:25: data.path: no.csv does not exist; it is relative to the") &&
                           ContainsSubstring(file + ":1:50: data.validation_path: /nonexistent does not exist\n") &&
                           ContainsSubstring(file + ":1:75: data.test_path: /none does not exist\n"));
  const nlohmann::json error = json_of(run_esper({"config", "check", file, "--json"}))["error"];
  CHECK(error["code"] == "data");
  CHECK(error["problems"][0]["path"] == "data.path");
  const std::string there = folder.write("there.csv", "1,0\n");
  CHECK(run_esper({"config", "check", file, "--set", "data.path=" + there, "data.validation_path=", "data.test_path="})
            .exit_code == 0);
  const Finished both = run_esper({"config", "check", file, "--set", "epochs=0"});
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.err, ContainsSubstring("epochs: must be") && ContainsSubstring("no.csv does not exist"));
}

TEST_CASE("validation or test data that are the training file under another name are a mistake for config check") {
  const TemporaryFolder folder;
  const std::string data = folder.write("train.csv", "1,0\n"), other = folder.write("other.csv", "2,1\n");
  const std::string link = folder.path / "link.csv", hard = folder.path / "hard.csv";
  std::filesystem::create_symlink(data, link);
  std::filesystem::create_hard_link(data, hard);
  const std::string file = folder.write("run.yaml", "data: {kind: csv, path: " + data + "}\n");
  for (const std::string& name : {link, hard, (folder.path / "." / "train.csv").string()}) {
    CAPTURE(name);
    for (const auto& [key, fraction] :
         {std::pair{"validation_path", "validation_fraction"}, {"test_path", "test_fraction"}}) {
      const std::string assignment = std::string("data.") + key + "=" + name;
      const Finished refused = run_esper({"config", "check", file, "--set", assignment});
      CHECK(refused.exit_code == 2);
      CHECK_THAT(refused.err, ContainsSubstring("--set " + assignment + ": data." + key + ": " + name +
                                                " is also the training data; name other data, or remove it and train "
                                                "with data." +
                                                fraction));
    }
  }
  const Finished measured = run_esper({"config", "check", file, "--set", "data.path=" + other,
                                       "data.validation_path=" + data, "data.test_path=" + link});
  CHECK(measured.exit_code == 2);
  CHECK_THAT(measured.err, ContainsSubstring("link.csv is also the validation data"));
  CHECK(run_esper({"config", "check", file, "--set", "data.validation_path=" + other}).exit_code == 0);
}

TEST_CASE("the graph lane on the CPU is a mistake, and a GPU that this machine lacks a note") {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.yaml", "step: {lane: graph}\ndevice: {kind: cpu}\n");
  const Finished refused = run_esper({"config", "check", file});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring(file + ":1:14: step.lane: graph cannot run with device.kind: cpu"));
  CHECK(run_esper({"config", "check", file, "--set", "step.lane=replay"}).exit_code == 0);
  CHECK(run_esper({"config", "show", file}).exit_code == 0);

  CHECK(json_of(run_esper({"config", "check", kReference, "--json"}))["notes"].empty());
  for (const std::string assignment : {"device.kind=cuda", "device.kind=cuda:1", "step.lane=graph"}) {
    CAPTURE(assignment);
    const Finished text = run_esper({"config", "check", kReference, "--set", assignment});
    CHECK(text.exit_code == 0);
    CHECK_THAT(text.out, StartsWith("OK "));
    const nlohmann::json notes =
        json_of(run_esper({"config", "check", kReference, "--set", assignment, "--json"}))["notes"];
    REQUIRE(notes.size() == (base::gpu_present() ? 0 : 1));
    if (notes.empty()) continue;
    CHECK(notes[0]["path"] == assignment.substr(0, assignment.find('=')));
    CHECK_THAT(text.out, ContainsSubstring("\nnote: --set " + assignment + ": ") &&
                             ContainsSubstring(" needs a GPU: this machine has no NVIDIA GPU"));
  }
}

TEST_CASE(
    "every command that trains a run file refuses what training refuses, with the place, before it does anything") {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.yaml", "step: {lane: graph}\ndevice: {kind: cpu}\n");
  const std::string sweep =
      folder.write("sweep.yaml", "config: run.yaml\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n");
  const std::string state = (folder.path / "daemon").string(), drills = folder.path.string();
  folder.write("mine.yaml", "about: x\nrun: run.yaml\n");
  folder.write("other.yaml", "about: x\nrun: good.yaml\n");
  const std::string good = folder.write("good.yaml", "name: a\n");
  const std::vector<std::vector<std::string>> commands{
      {"train", "--config", file},
      {"train", "--config", file, "--dry-run"},
      {"verify-resume", file, "--output", (folder.path / "certificate.json").string()},
      {"drill", "mine", "--drills", drills},
      {"drill", "other", "--drills", drills, "--config", file},
      {"bench", "--config", file},
      {"bench", "--config", good, "--against", file},
      {"submit", file, "--state-dir", state},
      {"sweep", sweep, "--state-dir", state},
      {"sweep", sweep, "--dry-run"}};
  for (const auto& command : commands) {
    CAPTURE(command);
    const Finished refused = run_esper(command);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring(file + ":1:14: step.lane: graph cannot run with device.kind: cpu"));
  }
  CHECK_FALSE(std::filesystem::exists(state));
  CHECK_FALSE(std::filesystem::exists(folder.path / "certificate.json"));
}

TEST_CASE("what training refuses is refused of a run that is continued or forked, with the place in its config.yaml") {
  const TemporaryFolder folder;
  const std::string run = (folder.path / "run").string();
  std::filesystem::create_directory(run);
  const auto refuses = [&](const std::vector<std::string>& command) {
    CAPTURE(command);
    const Finished refused = run_esper(command);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err,
               ContainsSubstring(run + "/config.yaml:1:14: step.lane: graph cannot run with device.kind: cpu"));
  };
  folder.write("run/config.yaml", "step: {lane: graph}\ndevice: {kind: cuda}\n");
  refuses({"train", "--resume", run, "--set", "device.kind=cpu"});
  refuses({"fork", run + "@7", "--set", "device.kind=cpu"});
  folder.write("run/config.yaml", "step: {lane: graph}\ndevice: {kind: cpu}\n");
  refuses({"train", "--resume", run});
  refuses({"fork", run + "@7", "--no-train"});
}

TEST_CASE("the graph lane is refused with its place by every command that would train it on a machine without a GPU") {
  if (base::gpu_present()) SKIP("this machine has a GPU");
  const TemporaryFolder folder;
  const std::string file = folder.write("run.yaml", "step: {lane: graph}\n");
  const std::string run = (folder.path / "run").string();
  folder.write("mine.yaml", "about: x\nrun: run.yaml\n");
  std::filesystem::create_directory(run);
  const std::string of_run = folder.write("run/config.yaml", "step: {lane: graph}\n");
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands{
      {file, {"train", "--config", file, "--dry-run"}},
      {file, {"verify-resume", file, "--output", (folder.path / "certificate.json").string()}},
      {file, {"drill", "mine", "--drills", folder.path.string()}},
      {file, {"bench", "--config", file}},
      {of_run, {"train", "--resume", run}},
      {of_run, {"fork", run + "@7", "--no-train"}}};
  for (const auto& [place, command] : commands) {
    CAPTURE(command);
    const Finished refused = run_esper(command);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring(place + ":1:14: step.lane: graph cannot run with device.kind: auto"));
  }
}

TEST_CASE(
    "a GPU that is missing is reported with its place by every command that would compute on it, after mistakes") {
  if (base::gpu_present()) SKIP("this machine has a GPU");
  const TemporaryFolder folder;
  const std::string file = folder.write("run.yaml", "device: {kind: cuda}\n");
  const std::string run = (folder.path / "run").string();
  folder.write("mine.yaml", "about: x\nrun: run.yaml\n");
  folder.write("plain.yaml", "name: a\n");
  const std::string own = folder.write("own.yaml", "about: x\nrun: plain.yaml\nset: [device.kind=cuda]\n");
  std::filesystem::create_directory(run);
  const std::string of_run = folder.write("run/config.yaml", "device: {kind: cuda}\n");
  const std::string drills = folder.path.string(),
                    in_file = ":1:16: device.kind: cuda needs a GPU: this machine has no";
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands{
      {file + in_file, {"train", "--config", file}},
      {file + in_file, {"train", "--config", file, "--dry-run"}},
      {file + in_file, {"verify-resume", file, "--output", (folder.path / "certificate.json").string()}},
      {file + in_file, {"drill", "mine", "--drills", drills}},
      {own + ":3:7: set: device.kind=cuda: device.kind: cuda needs a GPU", {"drill", "own", "--drills", drills}},
      {file + in_file, {"bench", "--config", file}},
      {of_run + in_file, {"train", "--resume", run}},
      {of_run + in_file, {"fork", run + "@7", "--no-train"}},
      {of_run + in_file, {"evaluate", run}},
      {of_run + in_file, {"predict", run, "new.csv"}}};
  for (const auto& [text, command] : commands) {
    CAPTURE(command);
    const Finished refused = run_esper(command);
    CHECK(refused.exit_code == 6);
    CHECK_THAT(refused.err, ContainsSubstring(text) && ContainsSubstring("; or set device.kind: cpu"));
  }
  const nlohmann::json error = json_of(run_esper({"train", "--config", file, "--json"}))["error"];
  CHECK(error["code"] == "resources");
  CHECK(error["problems"][0]["line"] == 1);
  const Finished mistaken = run_esper({"train", "--config", file, "--set", "epochs=0"});
  CHECK(mistaken.exit_code == 2);
  CHECK_THAT(mistaken.err, ContainsSubstring("epochs: must be") && !ContainsSubstring("needs a GPU"));
}

TEST_CASE("a wrong assignment of a drill is refused with its place in the drill's file") {
  const TemporaryFolder folder;
  folder.write("run.yaml", "name: a\n");
  const std::string file = folder.write("mine.yaml", "about: x\nrun: run.yaml\nset: [epochs=0]\n");
  const Finished refused = run_esper({"drill", "mine", "--drills", folder.path.string()});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring(file + ":3:7: set: epochs=0: epochs: must be"));
}

TEST_CASE("settings without effect are a note") {
  const std::vector<std::string> words{"config", "check", kReference, "--set", "training.grad_scaler.init_scale=1024"};
  const Finished text = run_esper(words);
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out,
             ContainsSubstring("\nnote: --set training.grad_scaler.init_scale=1024: training.grad_scaler: has "
                               "no effect with device.precision fp32"));
  auto with_json = words;
  with_json.emplace_back("--json");
  const nlohmann::json notes = json_of(run_esper(with_json))["notes"];
  REQUIRE(notes.size() == 1);
  CHECK(notes[0]["path"] == "training.grad_scaler");
}

TEST_CASE("a sweep warns once of a setting without effect, as training does") {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.yaml", "training: {grad_scaler: {init_scale: 1024}}\n");
  const std::string sweep =
      folder.write("sweep.yaml", "config: run.yaml\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n");
  const Finished shown = run_esper({"sweep", sweep, "--dry-run"});
  CHECK(shown.exit_code == 0);
  const std::string warning = file + ":1:25: training.grad_scaler: has no effect with device.precision fp32";
  CHECK_THAT(shown.err, ContainsSubstring(warning));
  CHECK(shown.err.find(warning) == shown.err.rfind(warning));
}

TEST_CASE("diffs end with 1 where they found a difference, and with 0 where there is none") {
  const TemporaryFolder folder;
  const std::string a = folder.write("a.yaml", "epochs: 3\n"), b = folder.write("b.yaml", "epochs: 4\n");
  CHECK(run_esper({"config", "diff", a, b}).exit_code == 1);
  CHECK(run_esper({"config", "diff", a, b, "--json"}).exit_code == 1);
  CHECK(run_esper({"config", "diff", a, a}).exit_code == 0);
  const std::string all =
      folder.write("all.json", R"([{"name": "a", "kind": "event"}, {"name": "b", "kind": "event"}])");
  const std::string one = folder.write("one.json", R"([{"name": "a", "kind": "event"}])");
  CHECK(run_esper({"telemetry", "diff", all, one}).exit_code == 1);
  CHECK(run_esper({"telemetry", "diff", one, all}).exit_code == 0);
}

TEST_CASE("a path on the command line that is not there ends every command with 2") {
  const std::string none = "/nonexistent/thing";
  for (const auto& words : {std::vector<std::string>{"config", "check", none},
                            {"config", "show", none},
                            {"config", "explain", none},
                            {"config", "diff", none, kReference},
                            {"config", "diff", kReference, none},
                            {"telemetry", "diff", none, "table"},
                            {"telemetry", "diff", "table", none},
                            {"topo", "log", none},
                            {"topo", "show", none},
                            {"topo", "diff", none, "1", "2"},
                            {"receipt", none, "seed-0001"},
                            {"why-slow", none},
                            {"evaluate", none},
                            {"fork", none + "@7"},
                            {"train", "--config", none},
                            {"train", "--resume", none},
                            {"bench", "--config", none},
                            {"baseline", "save", "--config", none},
                            {"baseline", "show", none + ".json"},
                            {"baseline", "diff", none + ".json", none}}) {
    CAPTURE(words);
    const Finished finished = run_esper(words);
    CHECK(finished.exit_code == 2);
    CHECK_THAT(finished.err, ContainsSubstring(none));
  }
}

TEST_CASE("one --set takes several assignments") {
  const nlohmann::json shown =
      json_of(run_esper({"config", "show", "--set", "epochs=7", "seed=3", kReference, "--json"}));
  CHECK(shown["epochs"] == 7);
  CHECK(shown["seed"] == 3);
}

TEST_CASE("a run file comes from a pipe of the process, and never from one that has no writer") {
  const std::string check = binary() + " config check ";
  const Finished piped = run_program({"/bin/bash", "-c", "echo epochs: 0 | " + check + "/dev/stdin"});
  CHECK(piped.exit_code == 2);
  CHECK_THAT(piped.err, ContainsSubstring("/dev/stdin:1:9: epochs: must be"));
  CHECK(run_program({"/bin/bash", "-c", check + "<(echo epochs: 3)"}).exit_code == 0);
  const TemporaryFolder folder;
  const Finished named = run_program({"/bin/bash", "-c", "mkfifo $0/p && " + check + "$0/p", folder.path.string()});
  CHECK(named.exit_code == 2);
  CHECK_THAT(named.err, ContainsSubstring("/p: is not a regular file"));
}

TEST_CASE("what is shown loads back to the same config") {
  const TemporaryFolder folder;
  const Finished shown = run_esper({"config", "show", kReference, "--set", "epochs=7", "--set", "host.hidden=[5, 6]"});
  CHECK(shown.exit_code == 0);
  const std::string file = folder.write("shown.yaml", shown.out);
  CHECK(run_esper({"config", "show", file}).out == shown.out);
  CHECK(json_of(run_esper({"config", "show", file, "--json"}))["host"]["hidden"] == nlohmann::json{5, 6});
  const nlohmann::json diff = json_of(run_esper({"config", "diff", kReference, file, "--json"}));
  REQUIRE(diff["fields"].size() == 2);
  CHECK(diff["fields"][0]["path"] == "epochs");
  CHECK(diff["fields"][0]["second"] == 7);
  CHECK_THAT(run_esper({"config", "diff", kReference, file}).out, StartsWith("epochs: 10 -> 7\nhost.hidden:"));
  CHECK(run_esper({"config", "diff", file, file}).out == "no field differs\n");
}

TEST_CASE("explain tells where a value comes from") {
  const nlohmann::json fields = json_of(run_esper(
      {"config", "explain", kReference, "training.optimizer", "--set", "training.optimizer.lr=0.5", "--json"}));
  REQUIRE(fields.size() == 9);
  CHECK(fields[0]["path"] == "training.optimizer.kind");
  CHECK_THAT(fields[0]["origin"].get<std::string>(), StartsWith(kReference + ":"));
  CHECK(fields[1]["value"] == 0.5);
  CHECK(fields[1]["default"] == 0.01);
  CHECK(fields[1]["origin"] == "--set training.optimizer.lr=0.5");
  CHECK(fields[1]["maximum"] == 1000.0);
  CHECK(fields[3]["origin"] == "default");
  CHECK_THAT(run_esper({"config", "explain", kReference, "seed"}).out, StartsWith("seed: 1337\n"));
  const Finished unknown = run_esper({"config", "explain", kReference, "sede"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("did you mean seed?"));
}

TEST_CASE("explain suggests a field for a path that is wrong in any of its parts") {
  using Case = std::pair<const char*, const char*>;
  for (const auto& [key, meant] :
       {Case{"trainig.lr", "training.optimizer.lr"}, Case{"training.lr", "training.optimizer.lr"},
        Case{"training.optimizer.lrr", "training.optimizer.lr"}, Case{"trainig", "training"},
        Case{"data.knd", "data.kind"}, Case{"training.optimizer.", "training.optimizer"}}) {
    CAPTURE(key);
    const Finished unknown = run_esper({"config", "explain", kReference, key});
    CHECK(unknown.exit_code == 2);
    CHECK_THAT(unknown.err,
               ContainsSubstring("there is no field \"" + std::string(key) + "\"; did you mean " + meant + "?"));
  }
  const Finished far = run_esper({"config", "explain", kReference, std::string(5000, 'x')});
  CHECK_THAT(far.err, ContainsSubstring("there is no field \"xxx") && !ContainsSubstring("did you mean"));
  CHECK(far.err.size() < 200);
  const Finished removed = run_esper({"config", "explain", kReference, "policy.reports.retention"});
  CHECK(removed.exit_code == 2);
  CHECK_THAT(removed.err, ContainsSubstring("policy.reports.retention: was removed"));
}

TEST_CASE("explain marks a value that was fitted to other fields") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("run.yaml", "host: {kind: transformer, embedding: 100}\ndata: {path: book.txt}\n");
  CHECK_THAT(run_esper({"config", "explain", file, "host.heads"}).out,
             StartsWith("host.heads: 5\n") && ContainsSubstring("; default 6; follows from other fields\n"));
  CHECK_THAT(run_esper({"config", "explain", file, "host.layers"}).out, ContainsSubstring("; default 6; not set\n"));
  CHECK(json_of(run_esper({"config", "explain", file, "host.heads", "--json"}))[0]["origin"] == "fitted");
  CHECK(json_of(run_esper({"config", "explain", file, "data.kind", "--json"}))[0]["origin"] == "fitted");
}

TEST_CASE("the schema commands print the committed files") {
  CHECK(run_esper({"config", "schema"}).out == read_text(ESPER_SOURCE_DIR "/configs/schema.json"));
  CHECK(run_esper({"config", "schema", "--markdown"}).out == read_text(ESPER_SOURCE_DIR "/docs/config.md"));
}

TEST_CASE("the telemetry commands print the committed catalogue") {
  CHECK(run_esper({"telemetry", "list", "--json"}).out ==
        read_text(ESPER_SOURCE_DIR "/baselines/telemetry/catalogue.json"));
  CHECK(run_esper({"telemetry", "list", "--markdown"}).out == read_text(ESPER_SOURCE_DIR "/docs/telemetry.md"));
  CHECK_THAT(run_esper({"telemetry", "list"}).out, ContainsSubstring("tolaria.training.loss "));
}

TEST_CASE("nothing is coloured where nobody looks") {
  CHECK(run_esper({"config", "check", kReference}).out.find('\033') == std::string::npos);
  CHECK(run_esper({"nonsense"}).err.find('\033') == std::string::npos);
}

}  // namespace esper::test::config_test
