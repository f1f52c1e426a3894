#include "tolaria/report/epoch_reporter.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <iterator>
#include <set>

#include "leyline/telemetry/telemetry.h"
#include "support/faults/armed_fault.h"
#include "support/run_fixture.h"

namespace esper::test::epoch_reporter_test {

namespace {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using Names = std::set<std::string>;

// What every epoch packet carries, and with it the contract with dashboards.
const Names kAlways = {"kasmina.isolation.violations",
                       "kasmina.seeds.active",
                       "tolaria.grad_agg.conflict_ratio",
                       "tolaria.grad_agg.conflicts",
                       "tolaria.grad_agg.pcgrad_applied",
                       "tolaria.grad_agg.weights_mean",
                       "tamiyo.decide.latency_ms",
                       "tolaria.checkpoint.bytes",
                       "tolaria.checkpoint.failed_total",
                       "tolaria.checkpoint.save_ms",
                       "tolaria.checkpoint.skipped_total",
                       "tolaria.checkpoint.stall_ms",
                       "tolaria.checkpoint.written_total",
                       "tolaria.compile.cache_hits_total",
                       "tolaria.compile.cache_misses_total",
                       "tolaria.compile.compile_ms",
                       "tolaria.compile.compiled_epochs_total",
                       "tolaria.compile.eager_step_us",
                       "tolaria.compile.pending",
                       "tolaria.compile.quarantined_total",
                       "tolaria.compile.steady_step_us",
                       "tolaria.compile.warmup_ms",
                       "tolaria.compile_warmup_remaining",
                       "tolaria.emergency.halt",
                       "tolaria.emergency.halts_total",
                       "tolaria.epoch_hook.latency_ms",
                       "tolaria.epochs.failed",
                       "tolaria.epochs.total",
                       "tolaria.grad_agg.microbatches_total",
                       "tolaria.grad_agg.teacher_share",
                       "tolaria.hook.latency_ms",
                       "tolaria.journal.lost_total",
                       "tolaria.loader.skipped_samples_total",
                       "tolaria.loader.wait_ms",
                       "tolaria.lr_controller.current_lr",
                       "tolaria.lr_controller.enabled",
                       "tolaria.memory.device_free_bytes",
                       "tolaria.memory.device_used_bytes",
                       "tolaria.memory.resident_bytes",
                       "tolaria.mode.conservative",
                       "tolaria.opt.rebuilds_total",
                       "tolaria.rollback.deadline_exceeded_total",
                       "tolaria.rollback.failures_total",
                       "tolaria.rollback.fast_hits_total",
                       "tolaria.rollback.fast_misses_total",
                       "tolaria.rollback.fast_size_bytes",
                       "tolaria.rollback.snapshot_ms",
                       "tolaria.rollback.snapshots_total",
                       "tolaria.seeds.active",
                       "tolaria.step.checks_failed_total",
                       "tolaria.step.checks_total",
                       "tolaria.step.lane",
                       "tolaria.step.lane_steps_total",
                       "tolaria.step.refusals_total",
                       "tolaria.timeout.tamiyo_last_ms",
                       "tolaria.timeout.tamiyo_total",
                       "tolaria.train.amp_enabled",
                       "tolaria.train.compile_enabled",
                       "tolaria.train.foreach_enabled",
                       "tolaria.train.graph_enabled",
                       "tolaria.train.pin_memory",
                       "tolaria.train.tf32_enabled",
                       "tolaria.training.accuracy",
                       "tolaria.training.gradient_norm",
                       "tolaria.training.latency_ms",
                       "tolaria.training.loss",
                       "tolaria.training.params",
                       "tolaria.training.samples_per_s",
                       "tolaria.training.steps_total",
                       "tolaria.validation.accuracy",
                       "tolaria.validation.best_epoch",
                       "tolaria.validation.f1",
                       "tolaria.validation.latency_ms",
                       "tolaria.validation.loss",
                       "tolaria.validation.precision",
                       "tolaria.validation.recall",
                       "tolaria.validation.top5"};
// Those of the ledger: in every packet but that of an epoch shorter than a millisecond.
const Names kOfTheLedger = {"tolaria.ledger.ms", "tolaria.step.p50_us", "tolaria.step.p95_us"};
const Names kPerSeed = {"tolaria.grad_agg.seed.alpha",         "tolaria.grad_agg.seed.mask_fraction",
                        "tolaria.grad_agg.seed.norm",          "tolaria.grad_agg.seed.params",
                        "tolaria.grad_agg.seed.share",         "tolaria.grad_agg.seed.share_delta",
                        "tolaria.grad_agg.seed.teacher_share", "tolaria.grad_agg.seed.weight"};

// All but the ledger's.
Names names_in(const leyline::TelemetryPacket& packet) {
  Names names;
  for (const auto& metric : packet.metrics) names.emplace(metric.name);
  for (const auto& name : kOfTheLedger) names.erase(name);
  return names;
}

Names missing(const Names& expected, const Names& found) {
  Names names;
  std::ranges::set_difference(expected, found, std::inserter(names, names.end()));
  return names;
}

double value_of(const leyline::TelemetryPacket& packet, const std::string& name) {
  const auto found = std::ranges::find(packet.metrics, name, &leyline::MetricValue::name);
  REQUIRE(found != packet.metrics.end());
  return found->value;
}

// The only seed's. Some of its metrics have a row for the host as well.
double value_of_seed(const leyline::TelemetryPacket& packet, const std::string& name) {
  const auto found = std::ranges::find_if(packet.metrics, [&](const auto& metric) {
    const auto seed = metric.attributes.find("seed_id");
    return metric.name == name && seed != metric.attributes.end() && seed->second == "seed-0001";
  });
  REQUIRE(found != packet.metrics.end());
  return found->value;
}

// Seeds are part of the network from their germination on, and their contributions are measured after each epoch.
config::RunConfig measuring_config() {
  auto config = small_config();
  config.growth.training = config::SeedTraining::kBlended;
  config.growth.alpha_ticks = 2;
  config.growth.counterfactual.every_epochs = 1;
  return config;
}

// At the first slots, after the first epoch.
Decision germinate_all(const Observation& seen, std::size_t seeds) {
  Decision decision;
  for (std::size_t i = 0; i < seeds && seen.current_epoch == 1; ++i) {
    const auto id = command_id(seen) + "-" + std::to_string(i), slot = seen.slots.at(i).slot;
    decision.commands.push_back(leyline::germination(id, slot, "mlp"));
    decision.commands.push_back(leyline::seed_command(id + "-start", SeedOperation::kStartTraining, ""));
    decision.commands.back().seed_operation->slot = slot;
  }
  return decision;
}

// One seed, trained from the second epoch on.
Decision grow_one(const Observation& seen) {
  if (seen.current_epoch == 1) return {{germination(seen)}, ""};
  if (seen.current_epoch == 2) return {{seed_command(seen, SeedOperation::kStartTraining, "seed-0001")}, ""};
  return {};
}

}  // namespace

TEST_CASE("an epoch packet carries exactly the names that exist by now, each with its unit") {
  SmallRun it;
  it.go();
  const auto packets = it.packets("tolaria");
  REQUIRE(packets.size() == 3);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const auto& packet = packets[i];
    CHECK(packet.packet_id == "small-run-epoch-" + std::to_string(i + 1));
    CHECK(missing(kAlways, names_in(packet)) == Names{});
    CHECK(missing(names_in(packet), kAlways) == Names{});
    std::set<std::pair<std::string_view, leyline::Attributes>> rows;
    for (const auto& metric : packet.metrics) CHECK(rows.emplace(metric.name, metric.attributes).second);  // none twice
    for (const auto& metric : packet.metrics) {
      INFO(metric.name);
      const auto row = std::ranges::find(leyline::kTelemetryTable, metric.name, &leyline::TelemetryEntry::name);
      REQUIRE(row != leyline::kTelemetryTable.end());
      CHECK(metric.unit == row->unit);
      CHECK(std::isfinite(metric.value));
    }
    CHECK(packet.level == leyline::Level::kInfo);
    CHECK(packet.system_health.status == leyline::Health::kHealthy);
    CHECK(packet.system_health.indicators.at("epoch") == std::to_string(i + 1));
    CHECK(packet.timestamp.ends_with("Z"));
  }
  CHECK(it.packets("kasmina").empty());
}

TEST_CASE("an epoch packet's figures are those of the run") {
  auto config = small_config();
  config.training.schedule.kind = config::ScheduleKind::kStep;
  config.training.schedule.step_epochs = 1;
  config.training.schedule.gamma = 0.5;
  SmallRun it(config);
  it.go();
  const auto last = it.packets("tolaria").back();
  CHECK(value_of(last, "tolaria.training.loss") == it.run.progress.train.loss);
  CHECK(value_of(last, "tolaria.training.accuracy") == it.run.progress.train.score);
  CHECK(value_of(last, "tolaria.validation.loss") == it.run.progress.validation->loss);
  CHECK(value_of(last, "tolaria.validation.accuracy") == it.run.progress.validation->score);
  CHECK(value_of(last, "tolaria.training.steps_total") == 18);
  CHECK(value_of(last, "tolaria.epochs.total") == 3);
  CHECK(it.values("tolaria.grad_agg.microbatches_total") == std::vector<double>{6, 12, 18});
  CHECK(value_of(last, "tolaria.grad_agg.teacher_share") == 1);
  CHECK(value_of(last, "tolaria.training.params") == 6 * 12 + 12 + 12 * 10 + 10 + 10 * 3 + 3);
  CHECK(value_of(last, "tolaria.training.latency_ms") > 0);
  CHECK(value_of(last, "tolaria.epoch_hook.latency_ms") >= value_of(last, "tolaria.hook.latency_ms"));
  CHECK(value_of(last, "tolaria.hook.latency_ms") >= value_of(last, "tamiyo.decide.latency_ms"));
  // The rate of the epoch's last step, not of the one to come.
  CHECK(it.values("tolaria.lr_controller.current_lr") == std::vector<double>{0.05, 0.025, 0.0125});
  CHECK(value_of(last, "tolaria.lr_controller.enabled") == 1);
}

TEST_CASE("an epoch packet has the steps that were clipped, where the run file clips") {
  const auto clipped = [](double norm) {
    auto config = small_config();
    config.training.clip_norm = norm;
    SmallRun it(config);
    it.go();
    return it.values("tolaria.training.clipped_steps");
  };
  CHECK(clipped(1e-6) == std::vector<double>{6, 6, 6});
  CHECK(clipped(1e6) == std::vector<double>{0, 0, 0});
  CHECK(clipped(0).empty());
}

TEST_CASE("what the last epoch measured of a seed is reported, whether its end removes the seed or keeps it") {
  enum class End { kKept, kCulled, kBlendedOut };
  const auto end = GENERATE(End::kKept, End::kCulled, End::kBlendedOut);
  const bool kept = end == End::kKept;
  auto config = measuring_config();
  config.epochs = kept ? 3 : 4;
  config.growth.gates.min_contribution_points = -100;
  SmallRun it(config, [=](const Observation& seen) -> Decision {
    const auto ask = [&](SeedOperation operation) {
      return Decision{{seed_command(seen, operation, "seed-0001")}, ""};
    };
    if (seen.current_epoch == 2 && end == End::kBlendedOut) return ask(SeedOperation::kCancel);  // over two epochs
    if (seen.current_epoch == 3 && end == End::kCulled) return ask(SeedOperation::kCull);
    return germinate_all(seen, 1);
  });
  if (kept) it.run.at_the_end = tolaria::AtTheEnd::kSettle;
  it.go();
  CHECK(it.events("seed_removed").size() == (kept ? 0 : 1));
  const auto packets = it.packets("kasmina");
  REQUIRE(packets.size() == 3);  // of the epochs 1 to 3
  CHECK(it.values("kasmina.seed.contribution_points").size() == 2);
  const auto& last = packets.back();
  CHECK(last.packet_id == "small-run-epoch-3-seed-0001");
  const auto names = names_in(last);
  CHECK(names.contains("kasmina.seed.contribution_points"));
  CHECK(names.contains("kasmina.seed.isolation_violations"));
  CHECK(names.contains("kasmina.seed.stage") == kept);  // what is gone has none
  if (kept) CHECK(value_of(last, "kasmina.seed.stage") == static_cast<double>(leyline::Stage::kFossilized));
}

TEST_CASE("a fossil of earlier epochs is not measured any more") {
  auto config = measuring_config();
  config.epochs = 2;
  config.host.modules = {"r0c0=mlp"};
  SmallRun it(config);
  it.go();
  REQUIRE(it.packets("kasmina").size() == 2);
  CHECK(names_in(it.packets("kasmina").back()) ==
        Names{"kasmina.seed.alpha", "kasmina.seed.alpha_steps", "kasmina.seed.params", "kasmina.seed.stage"});
}

TEST_CASE("an epoch that was undone measured nothing of the seeds that go on growing") {
  auto config = measuring_config();
  config.epochs = 4;
  const ArmedFault bad("tolaria.validation_loss", 3);
  SmallRun it(config, [](const Observation& seen) { return germinate_all(seen, 2); });
  it.go();
  REQUIRE(it.events("tolaria.rollback.restored").size() == 1);
  REQUIRE(it.events("seed_removed").size() == 1);
  CHECK(it.values("kasmina.seed.contribution_points").size() == 3);  // two seeds at epoch 2, one at 4
  for (const auto& packet : it.packets("kasmina")) {
    if (packet.packet_id != "small-run-epoch-3-seed-0001") continue;
    CHECK(names_in(packet) ==
          Names{"kasmina.seed.alpha", "kasmina.seed.alpha_steps", "kasmina.seed.params", "kasmina.seed.stage"});
  }
}

TEST_CASE("a seed has its share in the epoch packet and a packet of its own") {
  auto config = small_config();
  config.epochs = 4;
  SmallRun it(config, grow_one);
  it.go();
  const auto epochs = it.packets("tolaria");
  REQUIRE(epochs.size() == 4);
  auto expected = kAlways;
  expected.insert(kPerSeed.begin(), kPerSeed.end());
  const auto& last = epochs.back();
  CHECK(names_in(last) == expected);
  CHECK(value_of(last, "tolaria.seeds.active") == 1);
  const double teacher = value_of(last, "tolaria.grad_agg.teacher_share");
  const double seed = value_of_seed(last, "tolaria.grad_agg.seed.share");
  CHECK(seed > 0);
  CHECK(std::abs(teacher + seed - 1) < 1e-9);
  CHECK(value_of_seed(last, "tolaria.grad_agg.seed.mask_fraction") ==
        value_of_seed(last, "tolaria.grad_agg.seed.params") / value_of(last, "tolaria.training.params"));
  CHECK(value_of_seed(last, "tolaria.grad_agg.seed.weight") == 1);
  CHECK(value_of_seed(last, "tolaria.grad_agg.seed.teacher_share") == 1);
  CHECK_FALSE(names_in(last).contains("tolaria.grad_agg.seed.conflicts"));  // alone: nothing to compare with
  for (const auto& metric : last.metrics) {
    if (!kPerSeed.contains(std::string(metric.name))) continue;
    if (metric.attributes.at("seed_id") == "__teacher__") continue;
    CHECK(metric.attributes == leyline::Attributes{{"seed_id", "seed-0001"}, {"stage", "TRAINING"}});
  }

  const auto seeds = it.packets("kasmina");
  REQUIRE(seeds.size() == 4);  // reported from the epoch after which it was grown
  const auto& own = seeds.back();
  CHECK(own.packet_id == "small-run-epoch-4-seed-0001");
  CHECK(names_in(own) == Names{"kasmina.seed.alpha", "kasmina.seed.alpha_steps", "kasmina.seed.gradient_ratio",
                               "kasmina.seed.improvement_points", "kasmina.seed.isolation.dot",
                               "kasmina.seed.isolation.host_norm", "kasmina.seed.isolation.seed_norm",
                               "kasmina.seed.isolation_violations", "kasmina.seed.params", "kasmina.seed.shadow_points",
                               "kasmina.seed.stage"});
  CHECK(value_of(own, "kasmina.seed.stage") == 3);
  CHECK(own.metrics.front().attributes.at("slot") == "r0c0");
  CHECK(own.metrics.front().attributes.at("stage") == "TRAINING");
  CHECK(own.system_health.indicators.at("seed_id") == "seed-0001");
  CHECK(own.system_health.indicators.at("step_index") == "24");
}

}  // namespace esper::test::epoch_reporter_test
