#include "config/loading/known_fields.h"

#include <fmt/core.h>

#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "config/fields/other_names.h"

namespace esper::config {

using base::joined;
using base::nearest;

KnownFields::KnownFields(RunConfig& config) : rows_(field_table(config)) {
  for (const FieldRow& row : rows_) {
    by_path_.emplace(row.path, &row);
    keys_[row.section()].push_back(row.key());
  }
}

const FieldRow* KnownFields::find(const std::string& path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? nullptr : found->second;
}

std::vector<std::string> KnownFields::keys(const std::string& section, DocumentKind kind) const {
  std::vector<std::string> all = keys_.at(section);
  if (section.empty() && kind == DocumentKind::kRunFile) all.emplace_back(kExtends);
  return all;
}

std::string KnownFields::keys_of(const std::string& section, DocumentKind kind) const {
  return joined(keys(section, kind));
}

bool KnownFields::resembles_top_key(const std::string& key) const {
  return nearest(key, keys("", DocumentKind::kRunFile)).has_value();
}

std::string KnownFields::unknown_key(const std::string& key, const std::string& section, DocumentKind kind) const {
  std::vector<std::string> elsewhere;
  for (const FieldRow& row : rows_) {
    if (row.path == key || row.key() == key) elsewhere.push_back(row.path);
  }
  if (const auto other = field_of_other_name(key); !other.empty()) elsewhere.emplace_back(other);
  constexpr std::size_t kFew = 3;
  const std::vector<std::string> here = keys(section, kind);
  if (const auto close = nearest(key, here)) {
    return "unknown key; did you mean " + *close + "? Known here: " + joined(here);
  }
  if (!elsewhere.empty() && elsewhere.size() <= kFew) {
    return fmt::format("unknown key; there is {}. Known here: {}", joined(elsewhere), joined(here));
  }
  return "unknown key; known here: " + joined(here);
}

}  // namespace esper::config
