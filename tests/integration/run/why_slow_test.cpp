#include <signal.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>

#include "run_record.h"
#include "run_room.h"
#include "support/trace_check.h"

namespace esper::test::why_slow_test {

using namespace esper::test;
using nlohmann::json;

namespace {

json why_slow(const std::filesystem::path& run) {
  const Finished finished = run_esper({"why-slow", run.string(), "--json"});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  return json_of(finished);
}

double percent(const json& report, const std::string& owner) {
  for (const auto& entry : report["owners"]) {
    if (entry["owner"] == owner) return entry["percent"];
  }
  FAIL("no owner " << owner);
  return 0;
}

void check_sum(const json& report) {
  double sum = 0, ms = 0;
  for (const auto& entry : report["owners"]) {
    sum += entry["percent"].get<double>();
    ms += entry["ms"].get<double>();
  }
  CHECK(report["owners"].size() == 10);
  CHECK(std::abs(sum - 100) <= 0.5);
  CHECK(std::abs(ms - report["wall_ms"].get<double>()) <= 0.005 * ms);
}

}  // namespace

namespace {

void write_npy(const std::filesystem::path& file, const std::string& type, const std::string& shape,
               const std::string& bytes) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(128 - 10 - header.size() - 1, ' ').push_back('\n');
  std::ofstream(file, std::ios::binary) << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size())
                                        << '\0' << header << bytes;
}

// Pictures large enough that to prepare a batch is more work than to train one linear layer with it.
void write_pictures(const std::filesystem::path& folder) {
  constexpr int kPictures = 256, kBytes = 3 * 96 * 96;
  std::filesystem::create_directories(folder);
  std::string pixels(kPictures * kBytes, '\0'), labels(kPictures, '\0');
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<char>(i * 2654435761U >> 24);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<char>(i % 2);
  write_npy(folder / "x.npy", "|u1", "256, 3, 96, 96", pixels);
  write_npy(folder / "y.npy", "|u1", "256,", labels);
}

}  // namespace

TEST_CASE("a run's account covers the process from start to end, and sums to a hundred percent") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const Finished trained = train(config, room.run("run"), {"epochs=4"});
  REQUIRE(trained.exit_code == 0);
  const json report = why_slow(room.run("run"));
  CAPTURE(report.dump(2));
  check_sum(report);
  const double outside_ms = trained.took.count();
  CHECK(report["wall_ms"] <= outside_ms);
  CHECK(report["wall_ms"] >= 0.5 * outside_ms);  // the rest: starting the program and ending it
  CHECK(report["start_up_ms"] > 0);
  CHECK(percent(report, "compute") > 0);
  CHECK(report["covers"]["epochs"] == 4);
  CHECK(report["covers"]["processes"] == 1);
  CHECK(report["covers"]["gaps"].empty());
  CHECK(report["covers"]["status"] == "done");
  CHECK(report["step"]["p50_us"] > 0);
  CHECK(report["step"]["p95_us"] >= report["step"]["p50_us"]);

  const Finished text = run_esper({"why-slow", room.run("run").string()});
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("100.00%") != std::string::npos);
  CHECK(text.out.find("start-up") != std::string::npos);

  // A torn line costs what it told; the summary knows better anyway.
  std::ofstream(room.run("run") / "telemetry.jsonl", std::ios::app) << "{\"packet_id\":";
  const json damaged = why_slow(room.run("run"));
  check_sum(damaged);
  CHECK(damaged["wall_ms"] == report["wall_ms"]);
  CHECK(damaged["covers"]["damaged_lines"] == 1);
  CHECK(damaged["covers"]["gaps"].dump().find("has 1 damaged line;") != std::string::npos);
}

TEST_CASE("an interrupted, killed and resumed run is covered as far as it told") {
  const RunRoom room;
  const auto config = room.write("small.yaml", growing_config());
  const auto run = room.run("run");
  const auto stop = [&](const Words& command, int signal, const std::string& after) {
    RunningProgram program(command);
    REQUIRE(wait_for_checkpoint_after(after, run, program));
    program.send(signal);
    return program.wait().exit_code;
  };
  CHECK(stop(train_command(config, run, {"epochs=2000"}), SIGTERM, "") == 143);
  const json interrupted = why_slow(run);
  check_sum(interrupted);
  CHECK(interrupted["covers"]["status"] == "interrupted");
  CHECK(interrupted["covers"]["gaps"].empty());
  CHECK(std::filesystem::exists(run / "trace.json") == false);

  const auto newest = checkpoints_of(run).back();
  stop(resume_command(run), SIGKILL, newest);
  const json killed = why_slow(run);
  check_sum(killed);
  CHECK(killed["covers"]["processes"] == 2);
  CHECK(killed["covers"]["gaps"].size() >= 1);

  RunningProgram last(resume_command(run) + Words{"--trace"});
  REQUIRE(wait_for_checkpoint_after(checkpoints_of(run).back(), run, last));
  last.send(SIGINT);
  CHECK(last.wait().exit_code == 130);
  const json resumed = why_slow(run);
  check_sum(resumed);
  CHECK(resumed["covers"]["processes"] == 3);
  CHECK(resumed["wall_ms"] > interrupted["wall_ms"]);
  const json trace = read_json(run / "trace.json");
  check_trace(trace);
  CHECK(trace["traceEvents"].size() > 10);
}

TEST_CASE("batches that the training thread prepares itself show as waiting for them") {
  const RunRoom room;
  write_pictures(room.path / "pictures");
  const auto config = room.write("small.yaml",
                                 "epochs: 8\n"
                                 "device: {threads: 1}\n"
                                 "data: {kind: npy, path: " +
                                     (room.path / "pictures").string() +
                                     ", batch_size: 64, workers: 0,\n"
                                     "       augment: {crop_padding: 64, flip: true}}\n"
                                     "host: {kind: linear}\n"
                                     "growth: {enabled: false}\n"
                                     "policy: {kind: none}\n"
                                     "checkpoint: {every: 0 epochs, keep_best: false}\n");
  REQUIRE(train(config, room.run("run")).exit_code == 0);
  const json report = why_slow(room.run("run"));
  CAPTURE(report.dump(2));
  check_sum(report);
  CHECK(report["advice"]["owner"] == "loader_wait");
  CHECK(report["advice"]["set"] == "data.workers=2");
}

TEST_CASE("why-slow says what is wrong with a folder") {
  const RunRoom room;
  const auto said = [](const std::string& path) {
    const Finished finished = run_esper({"why-slow", path});
    CHECK(finished.exit_code == 2);
    return finished.err;
  };
  CHECK(said(room.path.string()).find("it is an empty folder; esper train creates one") != std::string::npos);
  CHECK(said("/nonexistent").find("it does not exist") != std::string::npos);
  const std::string config = room.write("config.yaml", "name: a\n");
  CHECK(said(config).find("it is a file") != std::string::npos);
  const Finished empty = run_esper({"why-slow", room.path.string()});
  CHECK(empty.exit_code == 3);
  CHECK(empty.err.find("has no recorded times") != std::string::npos);
  room.write("config.yaml", "nonsense: 1\n");
  CHECK(run_esper({"why-slow", room.path.string()}).exit_code == 2);
}

}  // namespace esper::test::why_slow_test
