#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli.h"
#include "support/committed_file.h"

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

TEST_CASE("ten mistakes are printed all ten, with places, and exit 2") {
  const TemporaryFolder folder;
  const std::string file = folder.write("bad.yaml", kTenMistakes);
  const Finished text = run_esper({"config", "check", file});
  CHECK(text.exit_code == 2);
  CHECK(text.out.empty());
  CHECK_THAT(text.err, StartsWith("esper: 10 problems in the configuration\n"));
  CHECK_THAT(text.err, ContainsSubstring(file + ":4:9: epochs: expected a number, but it is \"012\""));

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
