#pragma once
// The fields of an observation in JSON, for those who convert it (base/text/json_struct.h).

#include "base/text/json_struct.h"
#include "leyline/observation.h"

namespace esper::base {

constexpr auto json_members(const StandardError*) {
  using S = StandardError;
  return std::tuple{base::json_member("value", &S::value), base::json_member("degrees", &S::degrees)};
}

}  // namespace esper::base

namespace esper::leyline {

constexpr auto json_members(const HardwareContext*) {
  using S = HardwareContext;
  return std::tuple{base::json_member("device_type", &S::device_type), base::json_member("device_id", &S::device_id),
                    base::json_member("total_memory_gb", &S::total_memory_gb),
                    base::json_member("available_memory_gb", &S::available_memory_gb)};
}

constexpr auto json_members(const SeedWorth*) {
  using S = SeedWorth;
  return std::tuple{base::json_member("points", &S::points),
                    base::json_member("points_stderr", &S::points_stderr),
                    base::json_member("points_half_width", &S::points_half_width),
                    base::json_member("loss", &S::loss),
                    base::json_member("loss_stderr", &S::loss_stderr),
                    base::json_member("loss_half_width", &S::loss_half_width),
                    base::json_member("epochs", &S::epochs),
                    base::json_member("horizon", &S::horizon),
                    base::json_member("confounded", &S::confounded)};
}

constexpr auto json_members(const SeedFigures*) {
  using S = SeedFigures;
  return std::tuple{base::json_member("alpha", &S::alpha),
                    base::json_member("alpha_target", &S::alpha_target),
                    base::json_member("alpha_ticks", &S::alpha_ticks),
                    base::json_member("params", &S::params),
                    base::json_member("gradient_ratio", &S::gradient_ratio),
                    base::json_member("improvement_points", &S::improvement_points),
                    base::json_member("shadow_points", &S::shadow_points),
                    base::json_member("contribution_points", &S::contribution_points),
                    base::json_member("contribution_stderr_points", &S::contribution_stderr_points),
                    base::json_member("contribution_half_width_points", &S::contribution_half_width_points),
                    base::json_member("shapley_points", &S::shapley_points),
                    base::json_member("shapley_stderr_points", &S::shapley_stderr_points),
                    base::json_member("shapley_half_width_points", &S::shapley_half_width_points),
                    base::json_member("worth", &S::worth)};
}

constexpr auto json_members(const SeedState*) {
  using S = SeedState;
  return std::tuple{base::json_member("seed_id", &S::seed_id),
                    base::json_member("slot", &S::slot),
                    base::json_member("blueprint", &S::blueprint),
                    base::json_member("stage", &S::stage),
                    base::json_member("gradient_norm", &S::gradient_norm),
                    base::json_member("learning_rate", &S::learning_rate),
                    base::json_member("layer_depth", &S::layer_depth),
                    base::json_member("age_epochs", &S::age_epochs),
                    base::json_member("stage_epochs", &S::stage_epochs),
                    base::json_member("figures", &S::figures)};
}

constexpr auto json_members(const SlotState*) {
  using S = SlotState;
  return std::tuple{base::json_member("slot", &S::slot),
                    base::json_member("stage", &S::stage),
                    base::json_member("blueprints", &S::blueprints),
                    base::json_member("step_costs", &S::step_costs),
                    base::json_member("parameters", &S::parameters),
                    base::json_member("kind", &S::kind)};
}

constexpr auto json_members(const BlockState*) {
  using S = BlockState;
  return std::tuple{base::json_member("id", &S::id),
                    base::json_member("slot", &S::slot),
                    base::json_member("kind", &S::kind),
                    base::json_member("activation", &S::activation),
                    base::json_member("params", &S::params),
                    base::json_member("activation_units", &S::activation_units),
                    base::json_member("dropout", &S::dropout),
                    base::json_member("latency_ms", &S::latency_ms),
                    base::json_member("weight_norm", &S::weight_norm),
                    base::json_member("gradient_norm", &S::gradient_norm),
                    base::json_member("saturation", &S::saturation),
                    base::json_member("gradient_flow", &S::gradient_flow)};
}

constexpr auto json_members(const CommandParameter*) {
  using S = CommandParameter;
  return std::tuple{base::json_member("name", &S::name), base::json_member("min", &S::min),
                    base::json_member("max", &S::max), base::json_member("usual", &S::usual)};
}

constexpr auto json_members(const ValidationChange*) {
  using S = ValidationChange;
  return std::tuple{base::json_member("after", &S::after),
                    base::json_member("before", &S::before),
                    base::json_member("loss", &S::loss),
                    base::json_member("points", &S::points),
                    base::json_member("loss_error", &S::loss_error),
                    base::json_member("points_error", &S::points_error),
                    base::json_member("loss_swing", &S::loss_swing)};
}

constexpr auto json_members(const Observation*) {
  using S = Observation;
  return std::tuple{base::json_member("version", &S::version),
                    base::json_member("packet_id", &S::packet_id),
                    base::json_member("training_run_id", &S::training_run_id),
                    base::json_member("experiment_name", &S::experiment_name),
                    base::json_member("source_subsystem", &S::source_subsystem),
                    base::json_member("timestamp_ns", &S::timestamp_ns),
                    base::json_member("current_epoch", &S::current_epoch),
                    base::json_member("num_epochs", &S::num_epochs),
                    base::json_member("global_step", &S::global_step),
                    base::json_member("training_loss", &S::training_loss),
                    base::json_member("validation_loss", &S::validation_loss),
                    base::json_member("validation_accuracy", &S::validation_accuracy),
                    base::json_member("hardware_context", &S::hardware_context),
                    base::json_member("training_metrics", &S::training_metrics),
                    base::json_member("seed_states", &S::seed_states),
                    base::json_member("slots", &S::slots),
                    base::json_member("blocks", &S::blocks),
                    base::json_member("parameters", &S::parameters),
                    base::json_member("germination_barred", &S::germination_barred),
                    base::json_member("held_back", &S::held_back),
                    base::json_member("validation_changes", &S::validation_changes),
                    base::json_member("is_last", &S::is_last)};
}

}  // namespace esper::leyline
