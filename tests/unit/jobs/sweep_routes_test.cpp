#include "jobs/api/sweep_routes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <set>

#include "jobs/queue/trials_check.h"
#include "jobs/sweeps/loaded_sweep.h"
#include "support/queue_routes.h"

namespace esper::test::sweep_routes_test {

using namespace esper;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
const std::string kRunFile = "host: {kind: mlp}\n";
const std::string kNoGpuForGraph = "step.lane: graph needs a GPU, and none is available to jobs on this machine";

std::string sweep_of(const std::string& parameters) { return "name: tried\nconfig: run.yaml\n" + parameters; }

struct Routes : QueueRoutes {
  json submission(const std::string& run_file, const std::string& parameters, std::int64_t memory_bytes = 0) {
    return {{"sweep", sweep_of(parameters)},
            {"run_file", run_file},
            {"folder", folder.path()},
            {"runs_dir", folder / "runs"},
            {"memory_bytes", memory_bytes}};
  }
  http::Response submit(const std::string& run_file, const std::string& parameters, std::int64_t memory_bytes = 0) {
    return ask("POST", "/v1/sweeps", submission(run_file, parameters, memory_bytes));
  }
  base::Expected<std::int64_t> check(const std::string& parameters, const jobs::ForecastLimits& limits = {},
                                     const std::string& run_file = kRunFile) {
    jobs::SweepSubmission submission;
    submission.sweep = sweep_of(parameters);
    submission.run_file = run_file;
    submission.folder = folder.path();
    submission.runs_dir = folder / "runs";
    jobs::TrialsCheck trials(submission, queue.forecasts().observer(), limits);
    while (!trials.is_done()) trials.advance();
    return trials.result();
  }
  void accept(const std::string& run_file, const std::string& parameters, std::int64_t memory_bytes = 0) {
    const auto response = submit(run_file, parameters, memory_bytes);
    CAPTURE(response.body);
    CHECK(response.status == 201);
  }
  // Why it is refused; nothing of it is queued.
  std::string refusal_of(const std::string& run_file, const std::string& parameters, std::int64_t memory_bytes = 0) {
    const auto response = submit(run_file, parameters, memory_bytes);
    CAPTURE(response.body);
    REQUIRE(response.status == 400);
    CHECK(store.list({}).empty());
    return json::parse(response.body).at("error").get<std::string>();
  }
};

// Whether a configuration that is drawn has the graph lane.
bool draws_graph(const std::string& parameters) {
  for (const auto& configuration : jobs::load_sweep(sweep_of(parameters), kRunFile).configurations)
    if (configuration.front() == "graph") return true;
  return false;
}

}  // namespace

TEST_CASE("a sweep with a trial that can never have a GPU is refused, with the trial's values") {
  Routes routes;
  CHECK(routes.refusal_of(kRunFile, "parameters: {step.lane: [replay, graph]}\n") ==
        kNoGpuForGraph + "; use step.lane: auto, replay or compiled (with step.lane=graph)");
  CHECK_THAT(
      routes.refusal_of(kRunFile, "parameters: {epochs: [2, 3], device.kind: [cpu, cuda]}\n"),
      ContainsSubstring(
          "GPUs: it needs 1, and 0 are available to jobs on this machine (with epochs=2, device.kind=\"cuda\")"));
  CHECK_THAT(routes.refusal_of(kRunFile + "device: {kind: cuda}\n", "parameters: {epochs: [2, 3]}\n"),
             ContainsSubstring("GPUs: it needs 1, and 0 are available to jobs on this machine (with epochs=2)"));
}

TEST_CASE("all trials that can never begin are listed, of those with the same device and lane one") {
  Routes routes;
  const std::string refused = routes.refusal_of(
      kRunFile, "parameters: {device.kind: [auto, cuda], step.lane: [graph, replay], epochs: [2, 3]}\n");
  CHECK_THAT(refused, ContainsSubstring(kNoGpuForGraph) &&
                          ContainsSubstring("(with device.kind=\"auto\", step.lane=graph, epochs=2)") &&
                          ContainsSubstring("(with device.kind=\"cuda\", step.lane=graph, epochs=2)") &&
                          ContainsSubstring("(with device.kind=\"cuda\", step.lane=replay, epochs=2)"));
  CHECK_THAT(refused, !ContainsSubstring("\"auto\", step.lane=replay") && !ContainsSubstring("epochs=3"));
}

TEST_CASE("a trial that can never begin is found behind any number of others") {
  Routes routes;
  std::string epochs = "1";
  for (int i = 2; i <= 200; ++i) epochs += ", " + std::to_string(i);
  CHECK_THAT(routes.refusal_of(kRunFile, "parameters: {step.lane: [replay, graph], epochs: [" + epochs + "]}\n"),
             ContainsSubstring("(with step.lane=graph, epochs=1)"));
}

TEST_CASE("of a sweep that draws, those trials count that are drawn") {
  std::set<bool> tried;
  for (int seed = 1; seed <= 20; ++seed) {
    Routes routes;
    const std::string parameters = "method: random\nsamples: 1\nseed: " + std::to_string(seed) +
                                   "\nparameters: {step.lane: [replay, graph], epochs: {min: 1, max: 1000}}\n";
    CAPTURE(seed);
    const bool is_refused = draws_graph(parameters);
    CHECK(routes.submit(kRunFile, parameters).status == (is_refused ? 400 : 201));
    tried.insert(is_refused);
  }
  CHECK(tried.size() == 2);
}

TEST_CASE("what only the run file would need, and no trial does, refuses no sweep") {
  Routes routes;
  routes.accept(kRunFile + "step: {lane: graph}\n", "parameters: {step.lane: [replay, eager]}\n");
  routes.accept(kRunFile + "device: {kind: cuda}\n", "parameters: {device.kind: [cpu]}\n");
  routes.accept("host: {kind: mlp, hidden: [32768, 32768]}\n", "parameters: {host.hidden: [[8], [16]]}\n");
}

TEST_CASE("a sweep whose trials need more memory than there is is refused, however little its run file needs") {
  Routes routes;
  CHECK_THAT(routes.refusal_of(kRunFile, "parameters: {host.hidden: [[32768, 32768]]}\n"),
             ContainsSubstring("memory: the run is forecast to take") &&
                 ContainsSubstring("(with host.hidden=[32768, 32768])"));
}

TEST_CASE("a trial too large for the memory is found behind those that fit, once of those with the same forecast") {
  Routes routes;
  const std::string refused = routes.refusal_of(
      kRunFile, "parameters: {training.optimizer.lr: [0.1, 0.2], data.batch_size: [32, 64, 1000000]}\n");
  CHECK_THAT(refused, ContainsSubstring("memory: the run is forecast to take") &&
                          ContainsSubstring("(with training.optimizer.lr=0.1, data.batch_size=1000000)"));
  CHECK_THAT(refused, !ContainsSubstring("lr=0.2") && !ContainsSubstring("batch_size=64"));
}

TEST_CASE("values of a field that no forecast depends on take no part in how many are made, in either order") {
  Routes routes;
  const std::string unread = "policy.heuristic.plateau_epochs: [1, 2, 3, 4]",
                    sizes = "host.hidden: [[8], [32768, 32768]]";
  for (const std::string& parameters : {sizes + ", " + unread, unread + ", " + sizes}) {
    CAPTURE(parameters);
    const auto checked = routes.check("parameters: {" + parameters + "}\n", {.forecasts = 2});
    REQUIRE_FALSE(checked);
    CHECK_THAT(checked.error(), ContainsSubstring("host.hidden=[32768, 32768]"));
  }
}

TEST_CASE("of how many configurations there is no forecast is counted, and GPUs are looked at for all") {
  Routes routes;
  const std::string parameters = "parameters: {host.hidden: [[8], [16], [32], [64]], epochs: [2, 3]}\n";
  CHECK(routes.check(parameters).value() == 0);
  CHECK(routes.check(parameters, {.forecasts = 5}).value() == 3);
  CHECK(routes.check("parameters: {training.optimizer.lr: [0.1, 0.2], epochs: [2, 3]}\n", {.forecasts = 1}).value() ==
        2);
  CHECK_THAT(routes.check("parameters: {epochs: [2, 3], device.kind: [cpu, cuda]}\n", {.forecasts = 1}).error_or(""),
             ContainsSubstring("(with epochs=2, device.kind=\"cuda\")"));
  const auto response = routes.submit(kRunFile, parameters);
  CHECK(json::parse(response.body).at("not_forecast").is_null());
  CHECK(json::parse(routes.ask("GET", "/v1/sweeps/1").body).at("sweep").at("not_forecast").is_null());
}

TEST_CASE("a sweep whose run folders cannot be made is refused") {
  Routes routes;
  std::ofstream(routes.folder / "file") << "no folder";
  json body = routes.submission(kRunFile, "parameters: {epochs: [2, 3]}\n");
  body["runs_dir"] = routes.folder / "file/runs";
  const auto refused = routes.ask("POST", "/v1/sweeps", body);
  CHECK(refused.status == 400);
  CHECK_THAT(refused.body, ContainsSubstring("/file/runs cannot be made: ") &&
                               ContainsSubstring("/file is not a folder; choose another place"));
  CHECK(routes.store.list({}).empty());
}

TEST_CASE("between two forecasts of a sweep others are answered, and nothing of it is queued before the last one") {
  Routes routes;
  const std::string sizes = "parameters: {host.hidden: [[8], [16], [32]], epochs: [2, 3]}\n";
  auto response = routes.first_part("POST", "/v1/sweeps", routes.submission(kRunFile, sizes));
  int others = 0;
  for (; response.later; response = response.later(), ++others) {
    const auto other = routes.ask("GET", "/v1/jobs");
    CHECK(other.status == 200);
    CHECK(json::parse(other.body).at("jobs").empty());
  }
  CHECK(others == 5);
  CHECK(response.status == 201);
  CHECK(routes.store.list({}).size() == 6);
}

TEST_CASE("of two that submit a sweep with the same token at a time both have the one sweep") {
  Routes routes;
  json body = routes.submission(kRunFile, "parameters: {host.hidden: [[8], [16]]}\n");
  body["token"] = "once";
  const auto first = routes.first_part("POST", "/v1/sweeps", body);
  REQUIRE(first.later);
  const auto second = routes.ask("POST", "/v1/sweeps", body);
  const auto last = first.later();
  REQUIRE_FALSE(last.later);
  CHECK(last.status == 201);
  CHECK(last.body == second.body);
  CHECK(routes.store.list({}).size() == 2);
}

TEST_CASE("where reading data takes too long, those that were not read are counted, and their GPUs looked at") {
  Routes routes;
  for (const char* name : {"one.csv", "two.csv"}) std::ofstream(routes.folder / name) << "1,2,0\n";
  const std::string paths = "parameters: {data.path: [one.csv, two.csv], epochs: [2, 3]";
  const std::string run_file = "data: {kind: csv, path: one.csv}\n";
  CHECK(routes.check(paths + "}\n", {}, run_file).value() == 0);
  CHECK(routes.check(paths + "}\n", {.reading = base::Duration(0)}, run_file).value() == 4);
  CHECK_THAT(routes.check(paths + ", device.kind: [cuda]}\n", {.reading = base::Duration(0)}, run_file).error_or(""),
             ContainsSubstring("GPUs: it needs 1"));
}

TEST_CASE("each trial is forecast with its own data") {
  Routes routes;
  const std::string run_file =
      "host: {kind: mlp, hidden: [4096]}\ndata: {kind: synthetic, synthetic: {samples: 100}}\n";
  CHECK_THAT(routes.refusal_of(run_file, "parameters: {data.synthetic.features: [16, 1000000]}\n"),
             ContainsSubstring("(with data.synthetic.features=1000000)"));
}

TEST_CASE("a sweep may declare what memory each of its jobs needs, where its forecast is wrong") {
  Routes routes;
  const std::string trials = "parameters: {data.batch_size: [1000000, 32]}\n";
  CHECK_THAT(routes.refusal_of(kRunFile, trials), ContainsSubstring("set --memory if the job needs less"));
  CHECK_THAT(routes.refusal_of(kRunFile, trials, 9 * kGiB), ContainsSubstring("--memory declares 9.0 GiB"));
  CHECK_THAT(routes.refusal_of(kRunFile, trials, -1), ContainsSubstring("memory_bytes: may not be below 0"));
  routes.accept(kRunFile, trials, 4 * kGiB);
  const auto jobs = routes.store.list({});
  CHECK(jobs.size() == 2);
  for (const auto& job : jobs) CHECK(job.needs.memory_bytes == 4 * kGiB);
}

}  // namespace esper::test::sweep_routes_test
