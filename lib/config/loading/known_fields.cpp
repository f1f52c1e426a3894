#include "config/loading/known_fields.h"

#include <fmt/core.h>

#include "base/text/joined.h"
#include "base/text/nearest.h"

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

std::string KnownFields::keys_of(const std::string& section) const { return joined(keys_.at(section)); }

bool KnownFields::resembles_top_key(const std::string& key) const { return nearest(key, keys_.at("")).has_value(); }

std::string KnownFields::unknown_key(const std::string& key, const std::string& section) const {
  std::vector<std::string> elsewhere;
  for (const FieldRow& row : rows_) {
    if (row.path == key || row.key() == key) elsewhere.push_back(row.path);
  }
  constexpr std::size_t kFew = 3;
  if (const auto close = nearest(key, keys_.at(section))) {
    return "unknown key; did you mean " + *close + "? Known here: " + keys_of(section);
  }
  if (!elsewhere.empty() && elsewhere.size() <= kFew) {
    return fmt::format("unknown key; there is {}. Known here: {}", joined(elsewhere), keys_of(section));
  }
  return "unknown key; known here: " + keys_of(section);
}

}  // namespace esper::config
