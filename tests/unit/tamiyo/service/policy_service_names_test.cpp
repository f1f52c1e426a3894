// Every metric and event that the reference's policy service reported is reported here by some situation of the
// service, or does not apply, with the reason in baselines/telemetry/reference.json. What only a whole run reports has
// its tests there: tests/integration/run.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "leyline/seed_command.h"
#include "support/scripted_controller.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/service/policy_service.h"
#include "unit/tamiyo/observed.h"

namespace esper::tamiyo::policy_service_names_test {
namespace {

using leyline::Decision;
using leyline::Observation;
using Names = std::set<std::string, std::less<>>;

// Of the policy service, besides those that begin with "tamiyo".
constexpr std::string_view kEvents[] = {"policy_risk_signal",
                                        "policy_risk_elevated",
                                        "policy_risk_critical",
                                        "pause_triggered",
                                        "timeout_inference",
                                        "timeout_urza",
                                        "breaker_event",
                                        "bp_quarantine",
                                        "blueprint_risk",
                                        "bsds_present",
                                        "bsds_hazard_high",
                                        "bsds_hazard_critical",
                                        "bsds_handling_quarantine",
                                        "loss_spike",
                                        "loss_warning",
                                        "hook_budget",
                                        "step_latency_high",
                                        "kasmina_apply_slow",
                                        "kasmina_finalize_slow",
                                        "isolation_violations",
                                        "device_pressure_high",
                                        "cpu_pressure_high",
                                        "loss_volatility_high",
                                        "grad_variance_high",
                                        "grad_conflict_high",
                                        "optimizer_hint",
                                        "conservative_entered",
                                        "conservative_exited",
                                        "degraded_inputs",
                                        "compile_disabled",
                                        "compile_disabled_cpu",
                                        "field_report_synthesised",
                                        "field_report_retry",
                                        "field_report_drop",
                                        "field_report_sidecar_validation_warning",
                                        "policy_update_rejected"};

// Of the network's compiled forms, which this library does not know.
constexpr std::string_view kOfCompiledForms[] = {"compile_disabled", "tamiyo.gnn.compile_enabled",
                                                 "tamiyo.gnn.compile_fallback_total", "tamiyo.gnn.compile_warm_ms"};

bool is_in(const auto& list, std::string_view name) { return std::ranges::find(list, name) != std::end(list); }

// A service over one controller, whose names are collected.
struct Drill {
  std::shared_ptr<base::ManualTime> time = std::make_shared<base::ManualTime>();
  Observation now = observed_run();
  Names& names;
  PolicyService service;

  Drill(Names& collected, std::unique_ptr<leyline::Controller> controller)
      : names(collected),
        service(std::make_unique<Consultation>(std::move(controller), base::Clock(time), std::chrono::seconds(2),
                                               Pace::kImmediate),
                {}, base::Clock(time)) {}

  void epoch(const RunFigures& figures = {}) {
    const auto report = service.evaluate(now, figures);
    for (const auto& metric : report.metrics) names.emplace(metric.name);
    for (const auto& event : report.evaluation.events) names.emplace(event.description);
    ++now.current_epoch;
  }
};

Decision germinates(const Observation& seen) {
  return {{leyline::germination(test::command_id(seen), "r0c1", "lora")}, "grows"};
}

void drill_network(Names& names) {
  GnnSettings settings;
  settings.choice.max_seeds = 8;
  const auto network = [](const HeteroGraph& graph) -> base::Expected<PolicyOutputs> {
    PolicyOutputs outputs;
    outputs.policy_logits[1] = 5;
    outputs.seed_scores.assign(static_cast<std::size_t>(graph.nodes[static_cast<int>(NodeType::kSeed)].count), 0);
    outputs.blueprint_scores.assign(static_cast<std::size_t>(graph.nodes[static_cast<int>(NodeType::kBlueprint)].count),
                                    0);
    return outputs;
  };
  Drill drill(names, std::make_unique<GnnController>(network, settings));
  drill.epoch();
  drill.epoch();
}

void drill_failures(Names& names) {
  int calls = 0;
  std::shared_ptr<base::ManualTime> time;
  Drill drill(names, test::scripted([&](const Observation& seen) -> Decision {
                switch (++calls) {
                  case 1:
                    throw std::runtime_error("no idea");
                  case 2:
                    time->advance(std::chrono::seconds(3));
                    return {};
                  case 3:
                    return {{leyline::germination(test::command_id(seen), "r0c1", "no_such_blueprint")}, "?"};
                  case 4:
                    return {{leyline::germination(test::command_id(seen), "r9c9", "lora")}, "?"};
                  default:
                    return {};
                }
              }));
  time = drill.time;
  for (int epoch = 0; epoch < 3; ++epoch) drill.epoch();
  drill.time->advance(std::chrono::seconds(1));
  drill.epoch();
  drill.time->advance(std::chrono::seconds(1));
  drill.epoch();
}

// One row for each rule: what the run shows, and what the decision says of itself.
struct RuleCase {
  RunFigures figures = {};
  double loss_rise = 0;
  std::map<std::string, double> metrics = {};
  std::optional<double> risk = {}, coverage = {};
  bool grows = true;
};

void drill_rules(Names& names) {
  const RuleCase cases[] = {{.risk = 0.99},
                            {.risk = 0.9, .grows = false},
                            {.risk = 0.9},
                            {.loss_rise = 0.2},
                            {.loss_rise = 0.1},
                            {.figures = {.hook_ms = 60}},
                            {.figures = {.step_ms = 130}},
                            {.figures = {.apply_ms = 40}},
                            {.figures = {.isolation_violations = 1}},
                            {.figures = {.gpu_utilization_percent = 99, .gpu_free_gb = 0.1}},
                            {.figures = {.cpu_utilization_percent = 99}},
                            {.figures = {.gradient_conflict = 0.6}},
                            {.metrics = {{"loss_volatility", 0.2}}},
                            {.metrics = {{"grad_var", 2}}},
                            {.loss_rise = 0.01, .metrics = {{"optimizer_lr", 0}}},
                            {.coverage = 0.05}};
  for (const auto& c : cases) {
    bool is_shown = false;
    Drill drill(names, test::scripted([&](const Observation& seen) {
                  auto decision = is_shown && c.grows ? germinates(seen) : Decision{};
                  auto& estimate = decision.assessment.emplace();
                  if (is_shown) estimate.risk = c.risk, estimate.coverage = c.coverage;
                  return decision;
                }));
    drill.epoch();
    is_shown = true;
    drill.now.validation_loss += c.loss_rise;
    for (const auto& [name, value] : c.metrics) drill.now.training_metrics[name] = value;
    drill.epoch(c.figures);
    is_shown = false;
    drill.epoch();
  }
}

}  // namespace

TEST_CASE("the policy's names of the reference are reported by some situation, or do not apply") {
  Names names;
  drill_network(names);
  drill_failures(names);
  drill_rules(names);
  std::ifstream file(ESPER_SOURCE_DIR "/baselines/telemetry/reference.json");
  std::size_t count = 0;
  Names missing;
  const auto reference = nlohmann::json::parse(file);
  for (const auto& row : reference.at("names")) {
    const auto name = row.at("name").get<std::string>();
    if (!name.starts_with("tamiyo") && !is_in(kEvents, name)) continue;
    ++count;
    if (is_in(kOfCompiledForms, name)) continue;
    const auto status = row.at("status").get<std::string>();
    if (status.starts_with("does not apply: ")) {
      CHECK_FALSE(names.contains(name));
    } else if (status != "reported" || !names.contains(name)) {
      missing.insert(name);
    }
  }
  CHECK(count > std::size(kEvents) + 50);  // with the metrics
  CAPTURE(missing);
  CHECK(missing.empty());
}

}  // namespace esper::tamiyo::policy_service_names_test
