#pragma once
// Records of a log of decisions, with a value of its own in every field.

#include <cmath>
#include <limits>

#include "leyline/decision_record.h"
#include "leyline/seed_command.h"

namespace esper::test {

inline leyline::SeedState full_seed() {
  leyline::SeedState seed;
  seed.seed_id = "seed-0001";
  seed.slot = "r0c0";
  seed.blueprint = "norm";
  seed.stage = leyline::Stage::kBlending;
  seed.gradient_norm = 0.1F;
  seed.learning_rate = 1e-3F;
  seed.layer_depth = 1;
  seed.age_epochs = 2;
  seed.stage_epochs = 3;
  seed.figures = {.alpha = 0.3, .alpha_target = 0.7, .alpha_ticks = 4, .params = 128, .gradient_ratio = 0.25};
  seed.figures.contribution_points = 1.0 / 3;
  seed.figures.worth.points = -2.5;
  seed.figures.worth.epochs = 3;
  seed.figures.worth.confounded = true;
  return seed;
}

inline leyline::Observation full_observation(std::uint32_t epoch = 3) {
  leyline::Observation seen;
  seen.packet_id = "run-epoch-3";
  seen.training_run_id = "run";
  seen.experiment_name = "an \"experiment\"";
  seen.timestamp_ns = std::numeric_limits<std::uint64_t>::max();
  seen.current_epoch = epoch;
  seen.num_epochs = 20;
  seen.global_step = 10ull * epoch;
  seen.training_loss = std::nan("");
  seen.validation_loss = 0.1;
  seen.validation_accuracy = 2.0 / 3;
  seen.hardware_context = {"cuda", "0", 80, 12.5};
  seen.training_metrics = {{"gradient_norm", HUGE_VAL}, {"loss", -0.0}};
  seen.seed_states = {full_seed()};
  seen.slots = {{"r0c0", leyline::Stage::kBlending, {"norm", "mlp"}, {0.5, 0.25}, {12, 5000000000}}};
  seen.slots.front().kind = leyline::FeatureKind::kImage;
  leyline::BlockState block;
  block.id = "host.block0";
  block.kind = leyline::BlockKind::kDense;
  block.activation = leyline::ActivationKind::kGelu;
  block.activation_units = 7;
  block.dropout = 0.1;
  seen.blocks = {block};
  seen.parameters = {{"alpha_ticks", 1, 20, 5}};
  seen.germination_barred = "no epochs are left";
  seen.held_back = {"seed-0001", "r0c1"};
  leyline::ValidationChange change{1, 2, -0.1, 3};
  change.loss_error = base::StandardError{0.2, 11.5};
  seen.validation_changes = {change};
  seen.is_last = true;
  return seen;
}

inline leyline::Decision full_decision() {
  leyline::Decision decision;
  auto command = leyline::germination("run-e3-1", "r0c1", "mlp");
  command.execution_deadline_ms = 7;
  command.issued_at_ns = 123456789012345678ull;
  command.issued_by = "tamiyo.gnn";
  command.seed_operation->parameters = {{"alpha_ticks", 3}, {"alpha_target", 0.1}};
  command.annotations = {{"reason", "it learns"}};
  decision.commands = {command, leyline::seed_command("run-e3-2", leyline::SeedOperation::kCull, "seed-0001")};
  decision.reason = "two things";
  decision.warnings = {"a third could not be done"};
  decision.details = R"({"choice":{}})";
  auto& assessment = decision.assessment.emplace();
  assessment.value = 0.1;
  assessment.risk = 0.2;
  assessment.risk_index = 1;
  assessment.coverage = 0.9;
  assessment.family_coverage = {{"node.seed", 0.5}};
  assessment.network_ms = 1.25;
  assessment.seed_index = 2;
  assessment.seed_score = -0.5;
  assessment.blending = leyline::Assessment::Blending{"cosine", 1, 0.25, 0.5};
  return decision;
}

inline leyline::DecisionProcess logged_process(std::uint32_t epoch = 0) {
  leyline::DecisionProcess process;
  process.run_id = "run";
  process.epoch = epoch;
  process.step = 10ull * epoch;
  process.policy = "ensemble";
  process.config = "name: run\n";
  return process;
}

inline leyline::DecisionRecord logged_decision(std::uint32_t epoch = 3) {
  leyline::DecisionRecord record;
  record.observation = full_observation(epoch);
  record.policy = "gnn";
  record.state = R"({"a":1})";
  record.service = R"({"breaker":"closed"})";
  record.figures = {{"isolation_violations", 2}};
  record.answer = {"decided", "", 0.5, full_decision()};
  record.carried_out = full_decision();
  record.carried_out.commands.pop_back();
  record.held_by = "loss_spike";
  record.shadows = {{"heuristic", "{}", {"late", "no decision within 5 ms", 5, {}}}};
  return record;
}

}  // namespace esper::test
