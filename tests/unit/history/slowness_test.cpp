#include "history/ledger/slowness.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

namespace esper::test::slowness_test {

using namespace esper;
using base::Owner;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using config::RunConfig;
using history::RunLedger;

namespace {

// 1000 ms of it compute, the rest as given.
RunLedger with(Owner owner, double ms, const std::string& device = "cpu") {
  RunLedger ledger;
  ledger.ms[index_of(Owner::kCompute)] = 1000;
  ledger.ms[index_of(owner)] += ms;
  ledger.wall_ms = 1000 + ms;
  ledger.processes = 1;
  ledger.epochs = 10;
  ledger.device = device;
  return ledger;
}

constexpr std::int64_t kCores = 8;

history::Advice advise(const RunConfig& config, const RunLedger& ledger) {
  return history::advise(config, ledger, kCores);
}

std::string set_for(const RunConfig& config, Owner owner, const std::string& device = "cpu") {
  const auto advice = advise(config, with(owner, 500, device));
  CAPTURE(advice.text);
  return advice.set;
}

}  // namespace

TEST_CASE("the advice is the toggle of the largest avoidable share, never one that is set already") {
  RunConfig config;
  config.data.workers = 0;
  CHECK(set_for(config, Owner::kLoaderWait) == "data.workers=2");
  config.data.workers = 2;
  CHECK(set_for(config, Owner::kLoaderWait) == "data.workers=4");
  config.data.workers = 8;
  CHECK(set_for(config, Owner::kLoaderWait) == "data.prefetch=8");

  config = {};
  config.data.gpu_dataset = config::Resident::kOff;
  CHECK(set_for(config, Owner::kTransfer, "cuda:0") == "data.gpu_dataset=auto");
  CHECK(set_for(config, Owner::kLoaderWait, "cuda:0") == "data.gpu_dataset=auto");
  config.data.gpu_dataset = config::Resident::kOn;
  config.data.gpu_prefetch = false;
  CHECK(set_for(config, Owner::kTransfer, "cuda:0") == "data.gpu_prefetch=true");
  config.data.gpu_prefetch = true;
  config.data.pin_memory = false;
  CHECK(set_for(config, Owner::kTransfer, "cuda:0") == "data.pin_memory=true");

  config = {};
  CHECK(set_for(config, Owner::kCompile) == "step.lane=replay");
  config.step.compile.mode = config::CompileMode::kMaxAutotune;
  CHECK(set_for(config, Owner::kCompile) == "step.compile.mode=default");

  CHECK(set_for(config, Owner::kCheckpoint) == "checkpoint.every=10 epochs");
  config.checkpoint.every = {20, base::Length::Unit::kEpochs};
  CHECK(set_for(config, Owner::kCheckpoint) == "checkpoint.keep_best=false");

  CHECK(set_for(config, Owner::kTelemetry) == "telemetry.console=none");
  config.telemetry.console = config::ConsoleMode::kNone;
  CHECK(set_for(config, Owner::kTelemetry) == "telemetry.jsonl=false");
  CHECK(set_for(config, Owner::kValidation) == "data.validation_fraction=0.1");
  CHECK(set_for(config, Owner::kRollback) == "training.optimizer.lr=0.005");
}

TEST_CASE("the validation fraction is no advice where it has no effect") {
  using Kind = config::DataKind;
  RunConfig config;
  config.growth.enabled = false;
  config.data.path = "folder";
  for (const Kind kind : {Kind::kMnist, Kind::kCifar10, Kind::kImages, Kind::kNpy}) {
    config.data.kind = kind;
    CHECK(set_for(config, Owner::kValidation).find("validation_fraction") == std::string::npos);
  }
  config.data.kind = Kind::kCsv;
  CHECK(set_for(config, Owner::kValidation) == "data.validation_fraction=0.1");
  CHECK_THAT(advise(config, with(Owner::kValidation, 500)).text,
             ContainsSubstring("another split, so set it for a new run only: its figures are not comparable"));
  config.data.validation_path = "test.csv";
  CHECK(set_for(config, Owner::kValidation).find("validation_fraction") == std::string::npos);
  config.growth.enabled = true;
  CHECK(set_for(config, Owner::kValidation) == "growth.counterfactual.every_epochs=10");
}

TEST_CASE("late decisions ask for a shorter deadline, a slow policy for none") {
  RunConfig config;
  config.growth.enabled = true;
  config.policy.kind = config::PolicyKind::kHeuristic;
  auto ledger = with(Owner::kPolicy, 500);
  CHECK(advise(config, ledger).set == "policy.kind=none");
  ledger.policy_timeouts = 3;
  CHECK(advise(config, ledger).set == "safety.policy_deadline=1s");
  CHECK(advise(config, ledger).text.find("3 decisions were late, each after a wait of 2s") != std::string::npos);
}

TEST_CASE("a network that takes long may think while the next epoch trains") {
  RunConfig config;
  config.growth.enabled = true;
  config.policy.kind = config::PolicyKind::kGnn;
  CHECK(set_for(config, Owner::kPolicy) == "policy.overlap=on");
  config.policy.overlap = config::PolicyOverlap::kOn;
  CHECK(set_for(config, Owner::kPolicy) == "policy.kind=none");
}

TEST_CASE("where compute is what there is, the advice looks at lane, precision and threads") {
  RunConfig config;
  config.step.lane = config::Lane::kEager;
  CHECK(advise(config, with(Owner::kIdle, 0)).set == "step.lane=auto");
  config.step.lane = config::Lane::kAuto;
  CHECK(advise(config, with(Owner::kIdle, 0, "cuda:0")).set == "device.precision=auto");
  config.device.kind = "cpu";  // of a run that was resumed there
  CHECK(advise(config, with(Owner::kIdle, 0, "cuda:0")).set != "device.precision=auto");
  config.device.kind = "cuda:1";
  CHECK(advise(config, with(Owner::kIdle, 0, "cpu")).set == "device.precision=auto");
  config.device.kind = "auto";
  auto ledger = with(Owner::kIdle, 0);
  ledger.step_p50_us = 30;
  CHECK(advise(config, ledger).set == "device.threads=1");
  config.device.threads = 1;
  CHECK(advise(config, ledger).set.empty());
  ledger.step_p50_us = 20'000;
  CHECK(advise(config, ledger).set == "device.threads=0");
}

TEST_CASE("more threads than cores slow all that is computed, and so does fp16, on the CPU alone") {
  RunConfig config;
  config.device.threads = 99;
  auto ledger = with(Owner::kValidation, 500);
  auto advice = advise(config, ledger);
  CHECK(advice.owner == "compute");
  CHECK(advice.set == "device.threads=8");
  CHECK(advice.text.find("99 threads compute on 8 cores") != std::string::npos);
  CHECK(advise(config, with(Owner::kValidation, 500, "cuda:0")).set == "data.validation_fraction=0.1");
  CHECK(advise(config, with(Owner::kLoaderWait, 5000)).set == "data.workers=2");  // the larger share
  CHECK(advise(config, with(Owner::kIdle, 5000)).set == "device.threads=8");
  config.device.threads = static_cast<int>(kCores);
  CHECK(advise(config, ledger).set == "data.validation_fraction=0.1");

  config.device.precision = config::Precision::kFp16;
  advice = advise(config, ledger);
  CHECK(advice.set == "device.precision=fp32");
  CHECK(advice.text.find("fp16 is slow on the CPU") != std::string::npos);
  CHECK(advise(config, with(Owner::kValidation, 500, "cuda:0")).set == "data.validation_fraction=0.1");
  config.device.precision = config::Precision::kBf16;
  CHECK(advise(config, ledger).set == "data.validation_fraction=0.1");
}

TEST_CASE("a percentile of the steps that is not known is left out") {
  RunLedger ledger = with(Owner::kCompute, 0);
  ledger.step_p50_us = 12.5;
  CHECK(history::slowness_text("runs/a", ledger, {}).find("p50 12.5 us in the newest epoch\n") != std::string::npos);
  CHECK(history::slowness_json("runs/a", ledger, {})["step"].dump() == R"({"p50_us":12.5,"p95_us":null})");
  ledger.step_p95_us = 20;
  CHECK(history::slowness_text("runs/a", ledger, {}).find("p50 12.5 us, p95 20.0 us in") != std::string::npos);
  CHECK(history::slowness_json("runs/a", ledger, {})["step"]["p95_us"] == 20);
}

TEST_CASE("steps that fp16 skips are reported, and are worth advice as far as they take time") {
  RunConfig config;
  config.device.precision = config::Precision::kFp16;
  auto ledger = with(Owner::kLoaderWait, 300, "cuda:0");
  ledger.steps = 400;
  ledger.skipped_steps = 200;
  const auto advice = advise(config, ledger);
  CHECK(advice.owner == "compute");
  CHECK(advice.set == "device.precision=bf16");
  CHECK(advice.text.find("200 of 400 steps changed nothing") != std::string::npos);
  CHECK(history::slowness_text("runs/a", ledger, advice).find("skipped    200 of 400 steps") != std::string::npos);
  const auto json = history::slowness_json("runs/a", ledger, advice);
  CHECK(json["skipped_steps"] == 200);
  CHECK(json["steps"] == 400);
  CHECK(advise(config, with(Owner::kLoaderWait, 300, "cuda:0")).set == "data.workers=2");  // where none was skipped
  ledger.skipped_steps = 40;  // a tenth of the compute time: less than the loader takes
  CHECK(advise(config, ledger).set == "data.workers=2");
  config.device.precision = config::Precision::kBf16;  // set since
  ledger.skipped_steps = 200;
  CHECK(advise(config, ledger).set == "data.workers=2");
  ledger.skipped_steps.reset();
  CHECK(history::slowness_json("runs/a", ledger, advice)["skipped_steps"].is_null());
  CHECK(history::slowness_text("runs/a", ledger, advice).find("skipped") == std::string::npos);
}

TEST_CASE("start-up does not drown what comes after it, and small shares are not worth a word") {
  RunConfig config;
  config.data.workers = 0;
  auto ledger = with(Owner::kStartUp, 100'000);
  ledger.ms[index_of(Owner::kLoaderWait)] = 300;
  ledger.wall_ms += 300;
  CHECK(advise(config, ledger).set == "data.workers=2");
  ledger.ms[index_of(Owner::kLoaderWait)] = 30;
  CHECK(advise(config, ledger).owner == "compute");
}

TEST_CASE("controls are a part of validation, and have advice of their own") {
  RunConfig config;
  auto ledger = with(Owner::kValidation, 100);
  ledger.ms[index_of(Owner::kControl)] = 300;
  ledger.wall_ms += 300;
  const auto advice = advise(config, ledger);
  CHECK(advice.set == "growth.control.budget=0.05");
  const auto json = history::slowness_json("runs/a", ledger, advice);
  REQUIRE(json["owners"].size() == 10);
  CHECK(json["owners"][1]["owner"] == "validation");
  CHECK(json["owners"][1]["ms"] == Approx(400));
  CHECK(json["percent_sum"] == Approx(100));
  CHECK(json["control_ms"] == 300);
  CHECK(history::slowness_text("runs/a", ledger, advice).find("  controls") != std::string::npos);
}

TEST_CASE("the table and the JSON sum to a hundred percent, with start-up in idle") {
  RunConfig config;
  auto ledger = with(Owner::kValidation, 333.3);
  ledger.ms[index_of(Owner::kStartUp)] = 250;
  ledger.ms[index_of(Owner::kIdle)] = 17.7;
  ledger.wall_ms = 1000 + 333.3 + 250 + 17.7;
  ledger.gaps = {"process 1 was killed: the time after epoch 2 is missing"};
  const auto advice = advise(config, ledger);
  const auto json = history::slowness_json("runs/a", ledger, advice);
  REQUIRE(json["owners"].size() == 10);
  double sum = 0;
  for (const auto& owner : json["owners"]) sum += owner["percent"].get<double>();
  CHECK(sum == Approx(100).margin(1e-9));
  CHECK(json["percent_sum"] == sum);
  CHECK(json["owners"][0]["owner"] == "compute");
  CHECK(json["owners"][2]["owner"] == "idle");
  CHECK(json["owners"][2]["ms"] == Approx(267.7));
  CHECK(json["start_up_ms"] == 250);
  CHECK(json["step"].is_null());
  CHECK(json["advice"]["set"] == "data.validation_fraction=0.1");

  const auto text = history::slowness_text("runs/a", ledger, advice);
  CAPTURE(text);
  CHECK(text.find("compute            1000.000   62.46%  #########################\n") != std::string::npos);
  CHECK(text.find("  start-up          250.000   15.62%  of it\n") != std::string::npos);
  CHECK(text.find("sum                1601.000  100.00%  of the wall time") != std::string::npos);
  CHECK(text.find("  but process 1 was killed") != std::string::npos);
  CHECK(text.find("try --set data.validation_fraction=0.1\n") != std::string::npos);
}

}  // namespace esper::test::slowness_test
