#include "config/writing/earlier_versions.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/names.h"
#include "config/fields/removed_fields.h"
#include "config/writing/write.h"

namespace esper::config {
namespace {

using nlohmann::ordered_json;

struct Earlier {
  const char* path;
  void (*apply)(RunConfig& config);
};

// Fields without an effect by default keep it. Sections are listed field by field.
constexpr Earlier kEarlier[] = {
    {"task",
     [](RunConfig& config) {
       config.task = config.data.kind == DataKind::kText ? Task::kLanguage : Task::kClassification;
     }},
    {"data.columns.target", [](RunConfig& config) { config.data.columns.target.clear(); }},
    {"data.columns.features", [](RunConfig& config) { config.data.columns.features.clear(); }},
    {"data.columns.categorical", [](RunConfig& config) { config.data.columns.categorical.clear(); }},
    {"data.columns.missing", [](RunConfig& config) { config.data.columns.missing = {}; }},
    {"data.labels", [](RunConfig& config) { config.data.labels.clear(); }},
    {"data.token_type", [](RunConfig& config) { config.data.token_type = {}; }},
    {"data.vocabulary", [](RunConfig& config) { config.data.vocabulary.clear(); }},
    {"data.command", [](RunConfig& config) { config.data.command.clear(); }},
    {"host.freeze", [](RunConfig& config) { config.host.freeze.clear(); }},
    {"host.unfreeze_epoch", [](RunConfig& config) { config.host.unfreeze_epoch = 0; }},
    {"training.groups", [](RunConfig& config) { config.training.groups.clear(); }},
    {"training.decay_norms_and_biases", [](RunConfig& config) { config.training.decay_norms_and_biases = true; }},
    {"training.loss", [](RunConfig& config) { config.training.loss = {}; }},
    {"training.class_weights", [](RunConfig& config) { config.training.class_weights.clear(); }},
    {"training.huber_delta", [](RunConfig& config) { config.training.huber_delta = 1; }},
    {"training.grad_scaler.init_scale",
     [](RunConfig& config) { config.training.grad_scaler.init_scale = GradScalerConfig{}.init_scale; }},
    {"training.grad_scaler.growth_factor",
     [](RunConfig& config) { config.training.grad_scaler.growth_factor = GradScalerConfig{}.growth_factor; }},
    {"training.grad_scaler.backoff_factor",
     [](RunConfig& config) { config.training.grad_scaler.backoff_factor = GradScalerConfig{}.backoff_factor; }},
    {"training.grad_scaler.growth_interval",
     [](RunConfig& config) { config.training.grad_scaler.growth_interval = GradScalerConfig{}.growth_interval; }},
    {"training.metric", [](RunConfig& config) { config.training.metric = Metric::kAccuracy; }},
    {"training.early_stop_metric", [](RunConfig& config) { config.training.early_stop_metric = Metric::kLoss; }},
    {"data.test_fraction", [](RunConfig& config) { config.data.test_fraction = 0; }},
    {"data.standardize_targets", [](RunConfig& config) { config.data.standardize_targets = false; }},
    {"data.epoch_samples", [](RunConfig& config) { config.data.epoch_samples = 0; }},
    {"host.residual_blocks", [](RunConfig& config) { config.host.residual_blocks = 0; }},
    {"growth.kind", [](RunConfig& config) { config.growth.kind = GrowthKind::kModules; }},
    {"growth.deepen.at", [](RunConfig& config) { config.growth.deepen.at = DeepenConfig{}.at; }},
    {"growth.deepen.copies", [](RunConfig& config) { config.growth.deepen.copies = DeepenConfig{}.copies; }},
    {"growth.deepen.form", [](RunConfig& config) { config.growth.deepen.form = DeepenConfig{}.form; }},
    {"growth.training", [](RunConfig& config) { config.growth.training = SeedTraining::kStraightThrough; }},
    {"growth.seed_schedule.kind", [](RunConfig& config) { config.growth.seed_schedule.kind = {}; }},
    {"growth.seed_schedule.warmup_steps", [](RunConfig& config) { config.growth.seed_schedule.warmup_steps = 0; }},
    {"growth.seed_schedule.scale", [](RunConfig& config) { config.growth.seed_schedule.scale = 1; }},
    {"growth.seed_schedule.host_rewarm_steps",
     [](RunConfig& config) { config.growth.seed_schedule.host_rewarm_steps = 0; }},
    {"growth.control.epochs", [](RunConfig& config) { config.growth.control.epochs = ControlConfig{}.epochs; }},
    {"growth.control.budget", [](RunConfig& config) { config.growth.control.budget = ControlConfig{}.budget; }},
    {"growth.gates.evidence", [](RunConfig& config) { config.growth.gates.evidence = Evidence::kAblation; }},
    {"growth.gates.min_worth_loss", [](RunConfig& config) { config.growth.gates.min_worth_loss = 0; }},
    {"growth.gates.min_worth_points", [](RunConfig& config) { config.growth.gates.min_worth_points = 0; }},
    {"policy.every", [](RunConfig& config) { config.policy.every = PolicyConfig{}.every; }},
    {"policy.overlap", [](RunConfig& config) { config.policy.overlap = PolicyOverlap::kOff; }},
    {"policy.heuristic.window_epochs", [](RunConfig& config) { config.policy.heuristic.window_epochs = 1; }},
    {"policy.heuristic.min_share_left", [](RunConfig& config) { config.policy.heuristic.min_share_left = 0; }},
    {"policy.heuristic.max_training_accuracy",
     [](RunConfig& config) { config.policy.heuristic.max_training_accuracy = 100; }},
    {"policy.heuristic.max_gap_points", [](RunConfig& config) { config.policy.heuristic.max_gap_points = 100; }},
};

// Null if there is none.
ordered_json* find_section(ordered_json& root, std::string_view path, std::string& key) {
  ordered_json* node = &root;
  for (std::size_t from = 0;;) {
    const std::size_t dot = path.find('.', from);
    key = path.substr(from, dot - from);
    if (dot == std::string_view::npos) return node;
    if (!node->contains(key)) return nullptr;
    node = &(*node)[key];
    from = dot + 1;
  }
}

}  // namespace

void apply_earlier_behaviour(RunConfig& config, const std::function<bool(std::string_view)>& is_given) {
  for (const auto& [path, apply] : kEarlier) {
    if (!is_given(path)) apply(config);
  }
}

void erase_earlier_behaviour(ordered_json& json) {
  RunConfig earlier;
  if (json.at("data").at("kind") == base::name_of(DataKind::kText)) earlier.data.kind = DataKind::kText;
  for (const auto& [path, apply] : kEarlier) apply(earlier);
  ordered_json of_then = resolved_json(earlier);
  for (const auto& [path, apply] : kEarlier) {
    std::string key;
    ordered_json* const section = find_section(json, path, key);
    if (section == nullptr || section->at(key) != find_section(of_then, path, key)->at(key)) continue;
    section->erase(key);
    const std::string_view whole(path);
    const std::string_view above = whole.substr(0, whole.rfind('.'));
    if (section->empty()) find_section(json, above, key)->erase(key);
  }
}

void add_removed_fields(ordered_json& json) {
  for (const RemovedField& field : removed_fields()) {
    std::string key;
    if (ordered_json* const section = find_section(json, field.path, key)) (*section)[key] = std::string(field.unset);
  }
}

}  // namespace esper::config
