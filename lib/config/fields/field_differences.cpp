#include "config/fields/field_differences.h"

#include <algorithm>

#include "config/fields/field_table.h"
#include "config/fields/field_text.h"

namespace esper::config {

std::vector<FieldDifference> differing_fields(std::vector<RunConfig> configs) {
  std::vector<std::vector<FieldRow>> tables;
  for (RunConfig& config : configs) tables.push_back(field_table(config));
  std::vector<FieldDifference> differences;
  for (std::size_t i = 0; !tables.empty() && i < tables.front().size(); ++i) {
    FieldDifference field{tables.front()[i].path, {}, {}};
    for (const auto& table : tables) field.yaml.push_back(field_yaml(table[i].value));
    const bool differs = std::ranges::any_of(field.yaml, [&](const auto& text) { return text != field.yaml.front(); });
    if (!differs) continue;
    for (const auto& table : tables) field.json.push_back(field_json(table[i].value));
    differences.push_back(std::move(field));
  }
  return differences;
}

}  // namespace esper::config
