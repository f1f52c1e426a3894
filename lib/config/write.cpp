#include "config/write.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hash.h"
#include "config/deepening.h"
#include "config/earlier_versions.h"
#include "config/field_table.h"
#include "config/field_text.h"

namespace esper::config {

using base::fnv1a;

namespace {

using nlohmann::ordered_json;

// The settings that one policy alone reads; the heuristic's have some that apply to the seeds of every policy.
constexpr std::pair<PolicyKind, const char*> kOwnSettings[] = {
    {PolicyKind::kPeriodic, "periodic"}, {PolicyKind::kRandom, "random"}, {PolicyKind::kSchedule, "schedule"}};

ordered_json& at_path(ordered_json& root, const std::string& path) {
  ordered_json* node = &root;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    node = &(*node)[path.substr(from, dot - from)];
    from = dot + 1;
  }
  return *node;
}

// Without what does not change the numbers of a step.
ordered_json training_json(const RunConfig& config) {
  ordered_json json = resolved_json(config);
  for (const char* key : {"name", "runs_dir", "safety", "telemetry", "checkpoint"}) json.erase(key);
  for (const char* key : {"workers", "prefetch", "pin_memory", "persistent_workers", "gpu_prefetch", "gpu_dataset"}) {
    json["data"].erase(key);
  }
  for (const char* key : {"lane", "compile", "graph", "check_every"}) json["step"].erase(key);
  for (const auto& [kind, key] : kOwnSettings) {
    if (config.policy.kind != kind) json["policy"].erase(key);
  }
  // No test sample is trained on.
  json["data"].erase("test_path");
  erase_earlier_behaviour(json);
  if (!epochs_are_fixed(config)) json.erase("epochs");
  return json;
}

}  // namespace

std::string resolved_yaml(const RunConfig& config) {
  RunConfig copy = config;
  std::string text;
  for (const FieldRow& row : field_table(copy)) {
    const auto depth = static_cast<std::size_t>(std::count(row.path.begin(), row.path.end(), '.'));
    text.append(2 * depth, ' ').append(row.key()).append(":");
    if (!row.is_section()) text.append(" ").append(field_yaml(row.value));
    text.append("\n");
  }
  return text;
}

ordered_json resolved_json(const RunConfig& config) {
  RunConfig copy = config;
  ordered_json json = ordered_json::object();
  for (const FieldRow& row : field_table(copy)) {
    if (!row.is_section()) at_path(json, row.path) = field_json(row.value);
  }
  return json;
}

std::uint64_t config_hash(const RunConfig& config) { return fnv1a(resolved_json(config).dump()); }

std::uint64_t training_hash(const RunConfig& config) {
  ordered_json json = training_json(config);
  for (const char* key : {"path", "validation_path"}) json["data"].erase(key);
  return fnv1a(json.dump());
}

std::uint64_t located_training_hash(const RunConfig& config) { return fnv1a(training_json(config).dump()); }

bool epochs_are_fixed(const RunConfig& config) {
  const ScheduleConfig& schedule = config.training.schedule;
  const bool cosine_ends = schedule.kind == ScheduleKind::kCosine && schedule.total_steps == 0;
  const bool has_percentage =
      config.policy.kind == PolicyKind::kSchedule &&
      std::ranges::any_of(scheduled_germinations(config), [](const auto& line) { return line && line->percent > 0; });
  const bool seeds_end = config.growth.enabled && config.growth.seed_schedule.kind == SeedScheduleKind::kCosine;
  return cosine_ends || has_percentage || seeds_end;
}

}  // namespace esper::config
