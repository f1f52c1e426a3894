// `esper bench` and `esper baseline` as a user runs them, on few rounds.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <sstream>

#include "integration/cli/cli.h"
#include "integration/run/run_room.h"

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr std::chrono::seconds kDeadline{120};

Finished run_esper_long(Words arguments, const Words& environment = {}) {
  arguments.insert(arguments.begin(), binary());
  return run_program(arguments, environment, kDeadline);
}

Words quick(const std::string& command) {
  return {command, "--scenario", "reference", "--rounds", "3", "--epochs", "12", "--lanes", "eager"};
}

json report_of(const Finished& finished) {
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return json::parse(finished.out);
}

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return json::parse(text.str());
}

void write_script(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

void check_row(const json& row, const char* key) {
  CHECK(row.at(key).is_string());
  for (const char* figure : {"p50_us", "p95_us", "p99_us", "warmup_ms", "steps"}) CHECK(row.at(figure).is_number());
}

void check_block(const json& block) {
  CHECK(block.at("metrics").is_object());
  CHECK(block.at("events").is_array());
  CHECK(block.at("priority").is_string());
}

}  // namespace

TEST_CASE("bench reports lanes, epochs, ratios and noise, and writes the drills' files") {
  const RunRoom room;
  const auto folder = room.path / "artefacts";
  const auto report = report_of(run_esper_long(quick("bench") + Words{"--json", "--output-dir", folder.string()}));
  CHECK(report.at("scenario") == "reference");
  CHECK(report.at("environment").at("fingerprint").at("threads") == 1);
  REQUIRE(report.at("lanes").size() == 2);
  for (const auto& row : report["lanes"]) check_row(row, "lane");
  CHECK(report["lanes"][0].at("lane") == "eager");
  CHECK(report["lanes"][1].at("lane") == "hand");
  CHECK(report.at("peers").empty());
  CHECK(report.at("ratios").at("eager/hand").get<double>() > 0);
  CHECK(report.at("noise").at("floor").get<double>() > 0);
  CHECK(report.at("epoch").at("p95_ms").get<double>() >= report["epoch"].at("p50_ms").get<double>());
  CHECK(report.at("counts").at("eager").at("host_reads") == 0);

  for (const char* name : {"tolaria_normal_epoch.json", "tolaria_tamiyo_timeout.json"}) {
    CAPTURE(name);
    const auto drill = read_json(folder / name);
    check_block(drill.at("tolaria"));
    check_block(drill.at("tamiyo"));
    CHECK(drill["tolaria"]["metrics"].at("tolaria.training.latency_ms").get<double>() > 0);
    CHECK(drill.at("distributions").at("epoch_ms").at("p95").get<double>() > 0);
    CHECK(drill.at("environment").contains("fingerprint"));
    CHECK(drill.at("noise").contains("floor"));
  }
  const auto timeout = read_json(folder / "tolaria_tamiyo_timeout.json");
  CHECK(timeout["tolaria"]["metrics"].at("tolaria.timeout.tamiyo_total").get<double>() > 0);
  const auto metadata = read_json(folder / "metadata.json");
  for (const char* key : {"python_version", "platform", "cpu_count", "cuda_devices", "cuda_name"})
    CHECK(metadata.contains(key));
  CHECK(metadata.at("left_out").contains("kasmina_prefetch_benchmark.json"));
}

TEST_CASE("a Python that is missing, crashes or talks nonsense is a row that says so") {
  const RunRoom room;
  const auto reasons = [&](const std::string& python) {
    const auto report =
        report_of(run_esper_long(quick("bench") + Words{"--json", "--peer", "python"}, {"ESPER_PYTHON=" + python}));
    CHECK(report.at("peers").empty());
    REQUIRE(report.at("refused").size() == 2);
    CHECK(report["refused"][0].at("name") == "python_eager");
    CHECK(report["refused"][1].at("name") == "python_compiled");
    return report["refused"][0].at("reason").get<std::string>();
  };
  const std::string probe = "[ \"$1\" = -c ] && { echo '3.11.2 1'; exit 0; }\n";
  CHECK_THAT(reasons("/nowhere/python"), ContainsSubstring("no Python at /nowhere/python"));
  write_script(room.path / "crash", probe + "echo 'ImportError: broken' >&2; exit 1\n");
  CHECK_THAT(reasons((room.path / "crash").string()), ContainsSubstring("ImportError: broken"));
  write_script(room.path / "garbage", probe + "echo hello; sleep 100\n");
  CHECK_THAT(reasons((room.path / "garbage").string()), ContainsSubstring("something else than JSON"));
}

TEST_CASE("a baseline is kept by machine, shown, and compared on that machine alone") {
  const RunRoom room;
  const auto folder = room.path / "perf";
  const Words where = {"--dir", folder.string()};
  const auto saved = run_esper_long(Words{"baseline"} + quick("save") + where);
  REQUIRE(saved.exit_code == 0);
  const auto list = json::parse(run_esper_long(Words{"baseline", "list", "--json"} + where).out).at("baselines");
  REQUIRE(list.size() == 1);
  const std::filesystem::path path = list[0].at("path").get<std::string>();
  CHECK(path.filename() == "reference.json");
  CHECK_THAT(run_esper_long({"baseline", "show", path.string()}).out, ContainsSubstring("eager/hand"));
  CHECK_THAT(run_esper_long({"baseline", "diff", path.string(), path.string()}).out,
             ContainsSubstring("(1.000 times)"));

  const auto checked = run_esper_long(Words{"baseline"} + quick("check") + where + Words{"--budget", "9"});
  CAPTURE(checked.out, checked.err);
  CHECK(checked.exit_code == 0);

  auto foreign = read_json(path);
  foreign["environment"]["fingerprint"]["cpu"] = "another processor";
  std::ofstream(path) << foreign.dump();
  const auto refused = run_esper_long(Words{"baseline"} + quick("check") + where);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("another machine") && ContainsSubstring("another processor"));
  std::filesystem::remove(path);
  CHECK_THAT(run_esper_long(Words{"baseline"} + quick("check") + where).err, ContainsSubstring("esper baseline save"));
}

TEST_CASE("growing is measured step by step") {
  const auto report = report_of(run_esper_long({"bench", "--scenario", "growth", "--epochs", "18", "--json"}));
  const auto& growth = report.at("growth");
  CHECK(growth.at("ratio").get<double>() > 0);
  CHECK(report.at("ratios").at("counterfactual_4_seeds/validation").get<double>() > 1);
  std::string stages;
  for (const auto& change : growth.at("changes")) stages += change.dump();
  CHECK_THAT(stages, ContainsSubstring("GERMINATED") && ContainsSubstring("BLENDING") && ContainsSubstring("CULLED"));
  check_row(report.at("lanes").at(0), "lane");
}
