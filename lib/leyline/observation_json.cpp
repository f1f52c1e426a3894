#include "leyline/observation_json.h"

#include "base/text/json_struct.h"

namespace esper::base {

static constexpr auto json_members(const StandardError*) {
  using S = StandardError;
  return std::tuple{json_member("value", &S::value), json_member("degrees", &S::degrees)};
}

}  // namespace esper::base

namespace esper::leyline {

using base::json_member;

static constexpr auto json_members(const HardwareContext*) {
  using S = HardwareContext;
  return std::tuple{json_member("device_type", &S::device_type), json_member("device_id", &S::device_id),
                    json_member("total_memory_gb", &S::total_memory_gb),
                    json_member("available_memory_gb", &S::available_memory_gb)};
}

static constexpr auto json_members(const SeedWorth*) {
  using S = SeedWorth;
  return std::tuple{json_member("points", &S::points),
                    json_member("points_stderr", &S::points_stderr),
                    json_member("points_half_width", &S::points_half_width),
                    json_member("loss", &S::loss),
                    json_member("loss_stderr", &S::loss_stderr),
                    json_member("loss_half_width", &S::loss_half_width),
                    json_member("epochs", &S::epochs),
                    json_member("horizon", &S::horizon),
                    json_member("confounded", &S::confounded)};
}

static constexpr auto json_members(const SeedFigures*) {
  using S = SeedFigures;
  return std::tuple{json_member("alpha", &S::alpha),
                    json_member("alpha_target", &S::alpha_target),
                    json_member("alpha_ticks", &S::alpha_ticks),
                    json_member("params", &S::params),
                    json_member("gradient_ratio", &S::gradient_ratio),
                    json_member("improvement_points", &S::improvement_points),
                    json_member("shadow_points", &S::shadow_points),
                    json_member("contribution_points", &S::contribution_points),
                    json_member("contribution_stderr_points", &S::contribution_stderr_points),
                    json_member("contribution_half_width_points", &S::contribution_half_width_points),
                    json_member("shapley_points", &S::shapley_points),
                    json_member("shapley_stderr_points", &S::shapley_stderr_points),
                    json_member("shapley_half_width_points", &S::shapley_half_width_points),
                    json_member("worth", &S::worth)};
}

static constexpr auto json_members(const SeedState*) {
  using S = SeedState;
  return std::tuple{json_member("seed_id", &S::seed_id),
                    json_member("slot", &S::slot),
                    json_member("blueprint", &S::blueprint),
                    json_member("stage", &S::stage),
                    json_member("gradient_norm", &S::gradient_norm),
                    json_member("learning_rate", &S::learning_rate),
                    json_member("layer_depth", &S::layer_depth),
                    json_member("age_epochs", &S::age_epochs),
                    json_member("stage_epochs", &S::stage_epochs),
                    json_member("figures", &S::figures)};
}

static constexpr auto json_members(const SlotState*) {
  using S = SlotState;
  return std::tuple{json_member("slot", &S::slot),
                    json_member("stage", &S::stage),
                    json_member("blueprints", &S::blueprints),
                    json_member("step_costs", &S::step_costs),
                    json_member("parameters", &S::parameters),
                    json_member("kind", &S::kind)};
}

static constexpr auto json_members(const BlockState*) {
  using S = BlockState;
  return std::tuple{json_member("id", &S::id),
                    json_member("slot", &S::slot),
                    json_member("kind", &S::kind),
                    json_member("activation", &S::activation),
                    json_member("params", &S::params),
                    json_member("activation_units", &S::activation_units),
                    json_member("dropout", &S::dropout),
                    json_member("latency_ms", &S::latency_ms),
                    json_member("weight_norm", &S::weight_norm),
                    json_member("gradient_norm", &S::gradient_norm),
                    json_member("saturation", &S::saturation),
                    json_member("gradient_flow", &S::gradient_flow)};
}

static constexpr auto json_members(const CommandParameter*) {
  using S = CommandParameter;
  return std::tuple{json_member("name", &S::name), json_member("min", &S::min), json_member("max", &S::max),
                    json_member("usual", &S::usual)};
}

static constexpr auto json_members(const ValidationChange*) {
  using S = ValidationChange;
  return std::tuple{json_member("after", &S::after),
                    json_member("before", &S::before),
                    json_member("loss", &S::loss),
                    json_member("points", &S::points),
                    json_member("loss_error", &S::loss_error),
                    json_member("points_error", &S::points_error),
                    json_member("loss_swing", &S::loss_swing)};
}

static constexpr auto json_members(const Observation*) {
  using S = Observation;
  return std::tuple{json_member("version", &S::version),
                    json_member("packet_id", &S::packet_id),
                    json_member("training_run_id", &S::training_run_id),
                    json_member("experiment_name", &S::experiment_name),
                    json_member("source_subsystem", &S::source_subsystem),
                    json_member("timestamp_ns", &S::timestamp_ns),
                    json_member("current_epoch", &S::current_epoch),
                    json_member("num_epochs", &S::num_epochs),
                    json_member("global_step", &S::global_step),
                    json_member("training_loss", &S::training_loss),
                    json_member("validation_loss", &S::validation_loss),
                    json_member("validation_accuracy", &S::validation_accuracy),
                    json_member("hardware_context", &S::hardware_context),
                    json_member("training_metrics", &S::training_metrics),
                    json_member("seed_states", &S::seed_states),
                    json_member("slots", &S::slots),
                    json_member("blocks", &S::blocks),
                    json_member("parameters", &S::parameters),
                    json_member("germination_barred", &S::germination_barred),
                    json_member("validation_changes", &S::validation_changes),
                    json_member("is_last", &S::is_last)};
}

nlohmann::json observation_json(const Observation& observation) { return base::to_json(observation); }

base::Expected<Observation> read_observation(const nlohmann::json& document) {
  return base::from_json<Observation>(document);
}

}  // namespace esper::leyline
