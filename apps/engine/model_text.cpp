#include "engine/model_text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/names.h"
#include "base/text/aligned.h"
#include "base/text/joined.h"

namespace esper::engine {
namespace {

using Cells = std::vector<std::string>;

std::string status_of(const kasmina::LayerSummary& layer) {
  if (layer.trainable == layer.parameters) return "trainable";
  if (layer.trainable == 0) return "frozen";
  return fmt::format("{} trainable", layer.trainable);
}

std::string shapes_text(const kasmina::LayerSummary& layer) {
  if (layer.shapes.empty()) return fmt::format("{} tensors", layer.tensors);
  return base::joined(layer.shapes, ", ",
                      [](const kasmina::ParameterShape& of) { return fmt::format("{} {}", of.name, of.shape); });
}

std::string text_of_seed(const std::optional<kasmina::SeedSummary>& seed) {
  if (!seed) return "none";
  return fmt::format("{} {} {}, {} parameters", seed->seed_id, seed->blueprint, base::name_of(seed->stage),
                     seed->parameters);
}

std::string text_of_rows(const std::vector<Cells>& table, std::int64_t omitted) {
  return base::aligned(table) + (omitted > 0 ? fmt::format("and {} more\n", omitted) : "");
}

std::string layers_text(const kasmina::NetworkSummary& summary) {
  std::vector<Cells> table{{"layer", "parameters", "status", "tensors"}};
  for (const auto& layer : summary.layers)
    table.push_back({layer.name, std::to_string(layer.parameters), status_of(layer), shapes_text(layer)});
  return text_of_rows(table, summary.more_layers);
}

std::string slots_text(const kasmina::NetworkSummary& summary) {
  if (summary.slots.empty()) return "no slots: no seed can grow\n";
  std::vector<Cells> table{{"slot", "after", "feature", "seed"}};
  for (const auto& [slot, path, kind, shape, seed] : summary.slots)
    table.push_back(
        {slot, path.empty() ? "-" : path, fmt::format("{} {}", base::name_of(kind), shape), text_of_seed(seed)});
  return text_of_rows(table, summary.more_slots);
}

}  // namespace

std::string model_text(const kasmina::NetworkSummary& summary) {
  return layers_text(summary) + "\n" + slots_text(summary);
}

}  // namespace esper::engine
