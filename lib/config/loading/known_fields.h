#pragma once
// The keys that a run file may have, and the messages about others.

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/fields/field_table.h"
#include "config/loading/load.h"

namespace esper::config {

// The one key of a run file that is no field.
inline constexpr std::string_view kExtends = "extends";

class KnownFields {
 public:
  // The rows point into `config`.
  explicit KnownFields(RunConfig& config);
  KnownFields(const KnownFields&) = delete;
  KnownFields& operator=(const KnownFields&) = delete;

  // The field or section; null where there is none.
  const FieldRow* find(const std::string& path) const;
  // The keys of a section, as a list. kExtends is one at the top of a document that may extend another one.
  std::string keys_of(const std::string& section, DocumentKind kind) const;
  // Whether it is, or resembles, a key at the top of a run file.
  bool resembles_top_key(const std::string& key) const;
  // The problem of a key that the section does not have, with what may be meant.
  std::string unknown_key(const std::string& key, const std::string& section, DocumentKind kind) const;

 private:
  std::vector<std::string> keys(const std::string& section, DocumentKind kind) const;

  std::vector<FieldRow> rows_;
  std::unordered_map<std::string, const FieldRow*> by_path_;
  std::unordered_map<std::string, std::vector<std::string>> keys_;  // of each section
};

}  // namespace esper::config
