#include "config/writing/workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/text/joined.h"
#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/fields/removed_fields.h"

namespace esper::config {

using base::fnv1a;
using base::hash_text;

namespace {

using nlohmann::ordered_json;

// A whole name, or a section with its dot.
constexpr std::array<std::string_view, 13> kNoMatter{"name",
                                                     "runs_dir",
                                                     "epochs",
                                                     "safety.",
                                                     "telemetry.",
                                                     "checkpoint.",
                                                     "step.lane",
                                                     "step.check_every",
                                                     "step.graph.warmup_batches",
                                                     "step.compile.deadline",
                                                     "step.compile.memory_limit_mb",
                                                     "step.compile.cache_limit_mb",
                                                     "step.compile.ahead"};

bool matters(std::string_view path) {
  return std::ranges::none_of(
      kNoMatter, [&](std::string_view name) { return name.ends_with('.') ? path.starts_with(name) : path == name; });
}

std::string hash_of_fields(const ordered_json& fields) { return hash_text(fnv1a(fields.dump())); }

ordered_json without_removed(ordered_json fields) {
  for (const RemovedField& field : removed_fields()) fields.erase(std::string(field.path));
  return fields;
}

// As this version would have written it.
std::string hash_of_workload(const ordered_json& workload) {
  const auto& all = workload.at("fields");
  const auto fields = without_removed(all);
  return fields.size() == all.size() ? workload.at("hash").get<std::string>() : hash_of_fields(fields);
}

std::string value_at(const ordered_json& fields, const std::string& name) {
  return fields.contains(name) ? fields[name].dump() : "nothing";
}

}  // namespace

ordered_json workload_json(const RunConfig& config) {
  RunConfig copy = config;
  ordered_json fields = ordered_json::object();
  for (const FieldRow& row : field_table(copy)) {
    if (!row.is_section() && matters(row.path)) fields[row.path] = field_json(row.value);
  }
  return {{"hash", hash_of_fields(fields)}, {"fields", fields}};
}

std::string workload_difference(const ordered_json& kept, const ordered_json& now) {
  if (hash_of_workload(kept) == hash_of_workload(now)) return "";
  constexpr std::size_t kMostNamed = 3;
  const ordered_json before = without_removed(kept.at("fields")), after = without_removed(now.at("fields"));
  std::vector<std::string> differences;
  for (const auto* side : {&before, &after}) {
    for (const auto& [name, value] : side->items()) {
      const std::string text = fmt::format("{}: {} against {}", name, value_at(before, name), value_at(after, name));
      const bool differs = value_at(before, name) != value_at(after, name);
      if (differs && std::ranges::find(differences, text) == differences.end()) differences.push_back(text);
    }
  }
  if (differences.empty()) return "their hashes differ";
  const std::string text = base::joined(differences | std::views::take(kMostNamed));
  if (differences.size() <= kMostNamed) return text;
  return fmt::format("{}, and {} more", text, differences.size() - kMostNamed);
}

}  // namespace esper::config
