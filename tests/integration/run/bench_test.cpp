// `esper bench` and `esper baseline` as a user runs them, on few rounds.
#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "integration/cli/cli.h"
#include "integration/run/run_room.h"

namespace esper::test::bench_test {

using namespace esper::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::seconds kDeadline{960};

Finished run_esper_long(Words arguments, const Words& environment = {}) {
  arguments.insert(arguments.begin(), binary());
  return run_program(arguments, environment, kDeadline);
}

Words quick(const std::string& command) {
  return {command,    "--scenario", "reference", "--rounds", command == "bench" ? "3" : "15",
          "--epochs", "12",         "--lanes",   "eager"};
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
  CHECK(report.at("settings").at("esper").at("precision") == "float32");
  CHECK(report["settings"].at("python").is_null());

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
  const auto halted = read_json(folder / "tolaria_rollback_deadline.json").at("tolaria");
  CHECK(halted.at("metrics").at("tolaria.rollback.deadline_exceeded_total") == 1);
  CHECK(halted["metrics"].at("tolaria.rollback.restore_latency_ms").get<double>() > 5);
  CHECK(halted["metrics"].at("tolaria.emergency.halt") == 1);
  CHECK_FALSE(halted["metrics"].contains("tolaria.ledger.ms"));
  const auto& rollback = halted.at("events");
  for (const char* name : {"tolaria.rollback.restored", "tolaria.emergency.halt"}) {
    CAPTURE(name);
    CHECK(std::ranges::count_if(rollback, [&](const auto& event) { return event.at("description") == name; }) == 1);
  }
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
  const std::string probe = "[ \"$2\" = -c ] && { echo '3.11.2 1'; exit 0; }\n";
  CHECK_THAT(reasons("/nowhere/python"), ContainsSubstring("no Python at /nowhere/python"));
  write_script(room.path / "crash", probe + "echo 'ImportError: broken' >&2; exit 1\n");
  CHECK_THAT(reasons((room.path / "crash").string()), ContainsSubstring("ImportError: broken"));
  write_script(room.path / "garbage", probe + "echo hello; sleep 100\n");
  CHECK_THAT(reasons((room.path / "garbage").string()), ContainsSubstring("is not JSON"));
}

TEST_CASE("a network with modules in its slots is measured in every lane, and not by the loops that have none") {
  const auto report =
      report_of(run_esper_long({"bench", "--config", ESPER_SOURCE_DIR "/configs/run/digits_static.yaml", "--rounds",
                                "3", "--set", "host.modules=[r0c0=norm]", "--lanes", "eager,replay", "--json"}));
  CHECK(report.at("lanes").size() == 2);
  REQUIRE(report.at("refused").size() == 1);
  CHECK(report["refused"][0].at("name") == "hand");
  CHECK_THAT(report["refused"][0].at("reason").get<std::string>(), ContainsSubstring("no modules in slots"));
}

// So a recorded step costs what the built-in network's costs, compiled or not; eager pays for the interpreter alone.
TEST_CASE(
    "an imported network's recorded step is as many calls as the built-in network's, and both are timed in turns") {
  const RunRoom room;
  const std::string models = ESPER_SOURCE_DIR "/configs/imported/";
  std::string alphabet = " \n.";
  for (char c = 'a'; c <= 'z'; ++c) alphabet += {c, static_cast<char>(c - 'a' + 'A')};
  alphabet += "0123456789";
  std::string text;
  for (int i = 0; i < 400; ++i) text += alphabet;
  const auto path = room.write("text.txt", text);
  struct Twin {
    std::string scenario, model, example;
    Words settings;
  };
  const std::vector<Twin> twins{{"cnn", "Cnn", "1x28x28", {}},
                                {"transformer", "Transformer", "64:int64", sets({"data.path=" + path})}};
  for (const auto& [scenario, model, example, settings] : twins) {
    CAPTURE(scenario);
    const auto package = (room.path / scenario).string();
    const auto imported = run_esper({"import", models + "models.py:" + model, "--example", example, "--out", package});
    INFO(imported.err);
    REQUIRE(imported.exit_code == 0);
    const Words counts{"--counts", "--lanes", "eager,replay", "--json"};
    const auto built_in = report_of(run_esper_long(Words{"bench", "--scenario", scenario} + counts))["counts"];
    const auto own = report_of(run_esper_long(Words{"bench", "--config", models + scenario + ".yaml"} + counts +
                                              settings + sets({"host.path=" + package})))["counts"];
    CHECK(own["replay"]["operators"] == built_in["replay"]["operators"]);
    CHECK(own["eager"]["operators"] <= built_in["eager"]["operators"]);
  }
  const auto both =
      report_of(run_esper_long(Words{"bench", "--config", models + "cnn.yaml", "--against", models + "cnn.yaml",
                                     "--rounds", "3", "--epochs", "3", "--lanes", "replay", "--json"} +
                               sets({"host.path=" + (room.path / "cnn").string()})));
  CHECK(both["ratios"]["replay@cnn/replay"].get<double>() > 0);
  CHECK(both["against"]["name"] == "cnn");
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

  // Nothing is replaced, and nothing measured, until that is asked for.
  const auto again = run_esper_long(Words{"baseline"} + quick("save") + where);
  CHECK(again.exit_code == 2);
  CHECK_THAT(again.err, ContainsSubstring("a baseline exists already") && ContainsSubstring("--replace"));
  CHECK(again.err.find("bench:") == std::string::npos);
  CHECK(run_esper_long(Words{"baseline"} + quick("save") + where + Words{"--replace"}).exit_code == 0);

  const auto other = run_esper_long(Words{"baseline"} + quick("check") + where + Words{"--set", "data.batch_size=3"});
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, ContainsSubstring("another configuration of the workload, data.batch_size: 4 against 3"));

  const auto checked = run_esper_long(Words{"baseline"} + quick("check") + where + Words{"--budget", "9"});
  CAPTURE(checked.out, checked.err);
  CHECK(checked.exit_code == 0);

  auto foreign = read_json(path);
  foreign["environment"]["fingerprint"]["cpu"] = "another processor";
  std::ofstream(path) << foreign.dump();
  const auto refused = run_esper_long(Words{"baseline"} + quick("check") + where);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("another machine") && ContainsSubstring("another processor"));
  std::ofstream(path) << "{\"scenario\": ";
  const auto damaged = run_esper_long(Words{"baseline"} + quick("check") + where);
  CHECK(damaged.exit_code == 3);
  CHECK_THAT(damaged.err, ContainsSubstring(path.string()));
  std::filesystem::remove(path);
  CHECK_THAT(run_esper_long(Words{"baseline"} + quick("check") + where).err, ContainsSubstring("esper baseline save"));
}

TEST_CASE("a folder that cannot be written is told before anything is measured") {
  const RunRoom room;
  const auto file = room.write("a_file", "x");
  const auto bench = run_esper_long(quick("bench") + Words{"--output-dir", file + "/below"});
  CHECK(bench.exit_code == 6);
  CHECK_THAT(bench.err,
             ContainsSubstring("--output-dir " + file + "/below") && ContainsSubstring("nothing was measured"));
  CHECK(bench.err.find("bench:") == std::string::npos);
  const auto saved = run_esper_long(Words{"baseline"} + quick("save") + Words{"--dir", file});
  CHECK(saved.exit_code == 6);
  CHECK_THAT(saved.err, ContainsSubstring("--dir " + file) && ContainsSubstring("nothing was measured"));
}

TEST_CASE("a lane that cannot run here is a row that says so, and the others are measured") {
  const RunRoom room;
  const Words few = {"bench", "--rounds", "3", "--epochs", "12", "--set", "device.kind=cpu", "--json"};
  const auto graphs = report_of(run_esper_long(few + Words{"--lanes", "eager,replay,graph"}));
  CHECK(graphs.at("lanes").size() == 3);  // eager, replay, hand
  REQUIRE(graphs.at("refused").size() == 1);
  CHECK(graphs["refused"][0].at("name") == "graph");
  CHECK(graphs.at("epoch_lane") == "auto");

  write_script(room.path / "no_torch", "echo '3.11.2 0'\n");
  write_script(room.path / "no_python", "echo 'I am a shell'; exit 1\n");
  write_script(room.path / "no_end", "echo '3.11.2 1'; exec sleep 3000 >&-\n");
  const auto compiled = [&](const std::string& python) {
    const auto report = report_of(run_esper_long(few + Words{"--lanes", "eager,compiled"}, {"ESPER_PYTHON=" + python}));
    REQUIRE(report.at("refused").size() == 1);
    CHECK(report["refused"][0].at("name") == "compiled");
    return report["refused"][0].at("reason").get<std::string>();
  };
  CHECK_THAT(compiled("/nowhere/python"), ContainsSubstring("no Python at /nowhere/python, set by ESPER_PYTHON; run"));
  CHECK_THAT(compiled((room.path / "no_torch").string()), ContainsSubstring("has no torch; run scripts/bootstrap"));
  for (const char* name : {"no_python", "no_end"}) {
    CHECK_THAT(compiled((room.path / name).string()), ContainsSubstring("does not run as Python"));
  }
}

TEST_CASE("an interrupted measurement takes its folder along and says so") {
  const RunRoom room;
  for (const auto& [signal, status] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    RunningProgram program(
        {binary(), "bench", "--scenario", "mlp_wide", "--lanes", "eager,replay", "--rounds", "1000", "--json"},
        {"TMPDIR=" + room.path.string()});
    const auto begun = [&] { return !std::filesystem::is_empty(room.path); };
    for (int i = 0; i < 24000 && !begun() && !program.has_ended(); ++i) std::this_thread::sleep_for(10ms);
    REQUIRE(begun());
    std::this_thread::sleep_for(200ms);  // somewhere in the measurement: wherever, the end is the same
    program.send(signal);
    const Finished finished = program.wait(kDeadline);
    CHECK(finished.exit_code == status);
    const auto told = json::parse(finished.out).at("error");
    CHECK(told.at("exit_code") == status);
    CHECK_THAT(finished.err, ContainsSubstring(told.at("text").get<std::string>()));
    CHECK(std::filesystem::is_empty(room.path));
  }
}

TEST_CASE("counts are a table for people, and what a pipe's end does is seen") {
  const Words counts = {"bench", "--counts", "--lanes", "eager,replay"};
  const auto table = run_esper_long(counts);
  CHECK(table.exit_code == 0);
  CHECK_THAT(table.out, ContainsSubstring("operators") && ContainsSubstring("replay") && ContainsSubstring("hand"));
  const auto report = report_of(run_esper_long(counts + Words{"--json"}));
  CHECK_THAT(table.out, ContainsSubstring(report.at("counts").at("eager").at("operators").dump()));
  const RunRoom room;
  const auto full = run_program({"/bin/bash", "-c", binary() + " bench --counts --lanes eager --json > /dev/full"},
                                {"TMPDIR=" + room.path.string()}, kDeadline);
  CHECK(full.exit_code == 6);
  CHECK_THAT(full.err, ContainsSubstring("No space left on device"));
  const auto unread = run_program({"/bin/bash", "-c", with_reader_gone(binary() + " bench --counts --lanes eager")},
                                  {"TMPDIR=" + room.path.string()}, kDeadline);
  CHECK(unread.exit_code == 141);
  CHECK(std::filesystem::is_empty(room.path));
}

TEST_CASE("where nobody looks on, progress is plain lines and the table explains itself") {
  const auto finished = run_esper_long(quick("bench"));
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.err,
             ContainsSubstring("bench: preparing: eager\n") && ContainsSubstring("bench: 3 of 3 rounds\n"));
  for (const char control : {'\r', '\033'}) CHECK((finished.out + finished.err).find(control) == std::string::npos);
  CHECK_THAT(finished.out, ContainsSubstring("/eager") &&
                               ContainsSubstring("time relative to eager, median of 3 interleaved rounds") &&
                               ContainsSubstring("are not significant") && ContainsSubstring("precision float32"));
}

TEST_CASE("bf16 and fp16 are further from float64 than fp32 is") {
  const auto drift = report_of(run_esper_long({"bench", "--scenario", "mlp", "--precision-drift", "--drift-steps", "10",
                                               "--set", "device.kind=cpu", "device.precision=bf16", "--json"}))
                         .at("drift");
  CHECK(drift.at("steps") == 10);
  CHECK(drift.at("refused").empty());
  REQUIRE(drift.at("rows").size() == 3);
  std::map<std::string, json> last;
  for (const auto& row : drift["rows"]) {
    REQUIRE(row.at("points").size() == 4);  // steps 1, 2, 5, 10
    for (const auto& point : row["points"]) {
      for (const char* figure : {"loss_difference", "parameters_over_change", "parameters_over_norm"})
        CHECK(point.at(figure).is_number());
    }
    last[row.at("precision")] = row["points"].back();
  }
  const auto figure = [&](const char* precision, const char* name) {
    return last.at(precision).at(name).get<double>();
  };
  CHECK(figure("fp32", "parameters_over_change") < 1e-4);
  CHECK(figure("fp32", "loss_difference") < 1e-5);
  for (const char* name : {"parameters_over_change", "parameters_over_norm", "loss_difference"}) {
    CAPTURE(name);
    CHECK(figure("bf16", name) > 10 * figure("fp32", name));
    CHECK(figure("fp16", name) > figure("fp32", name));
  }
  const auto refused = run_esper_long({"bench", "--precision-drift"}, {"ESPER_PYTHON=/nowhere/python"});
  CHECK(refused.exit_code == 6);
  CHECK_THAT(refused.err, ContainsSubstring("--precision-drift needs Python for its float64 reference"));
  const auto no_peer = run_esper_long({"bench", "--precision-drift", "--set", "training.ema_decay=0.9"});
  CHECK(no_peer.exit_code == 2);
  CHECK_THAT(no_peer.err, ContainsSubstring("no parameter averaging"));
}

TEST_CASE("growing is measured step by step") {
  const auto report =
      report_of(run_esper_long(Words{"bench", "--scenario", "growth", "--epochs", "18", "--rounds", "3", "--json"} +
                               sets({"data.max_samples=600"})));
  const auto& growth = report.at("growth");
  CHECK(growth.at("ratio").get<double>() > 0);
  CHECK(report.at("ratios").at("counterfactual_4_seeds/validation").get<double>() > 1);
  for (const char* name : {"shadow_1_seed/straight_through", "pcgrad_1_seed/plain", "pcgrad_4_seeds/plain",
                           "seed_figures_1_seed/without"}) {
    CHECK(report.at("ratios").at(name).get<double>() > 0);
    CHECK(report.at("seed_costs").at("intervals").at(name).size() == 2);
  }
  std::string stages;
  for (const auto& change : growth.at("changes")) stages += change.dump();
  CHECK_THAT(stages, ContainsSubstring("GERMINATED") && ContainsSubstring("BLENDING") && ContainsSubstring("CULLED"));
  check_row(report.at("lanes").at(0), "lane");
}

}  // namespace esper::test::bench_test
