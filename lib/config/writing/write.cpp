#include "config/writing/write.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/hash.h"
#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/writing/earlier_versions.h"
#include "config/writing/free_fields.h"

namespace esper::config {

using base::fnv1a;

namespace {

using nlohmann::ordered_json;

ordered_json& at_path(ordered_json& root, const std::string& path) {
  ordered_json* node = &root;
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t dot = std::min(path.find('.', from), path.size());
    node = &(*node)[path.substr(from, dot - from)];
    from = dot + 1;
  }
  return *node;
}

std::uint64_t hash_of_training(const RunConfig& config, FreeAsOf version) {
  ordered_json document = resolved_json(config);
  erase_free_fields(config, document, version);
  add_removed_fields(document);
  erase_earlier_behaviour(document);
  return fnv1a(document.dump());
}

void append_line(std::string& text, const FieldRow& row) {
  const auto depth = static_cast<std::size_t>(std::count(row.path.begin(), row.path.end(), '.'));
  text.append(2 * depth, ' ').append(row.key()).append(":");
  if (!row.is_section()) text.append(" ").append(field_yaml(row.value));
  text.append("\n");
}

}  // namespace

std::string resolved_yaml(const RunConfig& config) {
  RunConfig copy = config;
  std::string text;
  for (const FieldRow& row : field_table(copy)) append_line(text, row);
  return text;
}

std::string given_yaml(const RunConfig& config, const std::function<bool(std::string_view path)>& is_given) {
  RunConfig copy = config;
  std::string text;
  std::vector<const FieldRow*> sections;  // that the row lies in and that have no line yet, the outermost first
  const auto rows = field_table(copy);
  for (const FieldRow& row : rows) {
    std::erase_if(sections, [&](const FieldRow* section) { return !row.path.starts_with(section->path + "."); });
    if (row.is_section()) {
      sections.push_back(&row);
    } else if (is_given(row.path)) {
      for (const FieldRow* section : sections) append_line(text, *section);
      sections.clear();
      append_line(text, row);
    }
  }
  return text;
}

ordered_json resolved_json(const RunConfig& config) {
  RunConfig copy = config;
  ordered_json document = ordered_json::object();
  for (const FieldRow& row : field_table(copy)) {
    if (!row.is_section()) at_path(document, row.path) = field_json(row.value);
  }
  return document;
}

std::uint64_t config_hash(const RunConfig& config) { return fnv1a(resolved_json(config).dump()); }

std::uint64_t training_hash(const RunConfig& config) { return hash_of_training(config, FreeAsOf::kNow); }

std::vector<std::uint64_t> earlier_training_hashes(const RunConfig& config) {
  return {hash_of_training(config, FreeAsOf::kDeviceKept), hash_of_training(config, FreeAsOf::kDeviceAndPathsKept)};
}

}  // namespace esper::config
