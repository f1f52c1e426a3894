#include "config/fields/field_table.h"

#include <utility>

#include "config/fields/field_rows.h"

namespace esper::config {

namespace {

template <class T>
concept Validated = requires(const T& value, Findings& out) { value.validate(out); };

template <class Struct>
void append_findings(const Struct& object, const std::string& section, Findings& out) {
  if constexpr (Validated<Struct>) {
    Findings own;
    object.validate(own);
    for (Finding& finding : own) {
      finding.path = join_path(section, finding.path);
      for (std::string& other : finding.also) other = join_path(section, other);
      out.push_back(std::move(finding));
    }
  }
  for_each_field<Struct>([&](const auto& field) {
    const auto& member = object.*field.member;
    if constexpr (Described<std::remove_cvref_t<decltype(member)>>) {
      append_findings(member, join_path(section, field.key), out);
    }
  });
}

}  // namespace

std::string join_path(std::string_view section, std::string_view key) {
  return section.empty() ? std::string(key) : std::string(section) + "." + std::string(key);
}

std::string FieldRow::section() const {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

std::string FieldRow::key() const { return path.substr(path.rfind('.') + 1); }

std::vector<FieldRow> field_table(RunConfig& config) {
  std::vector<FieldRow> rows;
  append_rows(config, "", rows);
  return rows;
}

Findings validate_all(const RunConfig& config) {
  Findings out;
  append_findings(config, "", out);
  return out;
}

}  // namespace esper::config
