#include "config/fields/field_table.h"

#include <utility>

#include "base/names.h"

namespace esper::config {

using base::Named;

namespace {

template <class T>
concept Described = requires { T::fields(); };
template <class T>
concept Validated = requires(const T& value, Findings& out) { value.validate(out); };

template <class Struct, class Visit>
void for_each_field(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Struct::fields());
}

template <Named E>
EnumField enum_field(E& value) {
  EnumField field{&value, {}, nullptr, nullptr};
  for (const auto& [known, name] : names(E{})) field.names.push_back(name);
  field.get = [](const void* at) {
    const auto table = names(E{});
    std::size_t index = 0;
    while (index < table.size() && table[index].first != *static_cast<const E*>(at)) ++index;
    return index;
  };
  field.set = [](void* at, std::size_t index) { *static_cast<E*>(at) = names(E{})[index].first; };
  return field;
}

template <class T>
EntriesField entries_field(std::vector<Entry<T>>& entries) {
  EntriesField field{&entries, nullptr, nullptr};
  field.get = [](const void* at) {
    std::vector<std::string> texts;
    for (const auto& entry : *static_cast<const std::vector<Entry<T>>*>(at)) texts.push_back(entry.text());
    return texts;
  };
  field.set = [](void* at, const std::vector<std::string>& texts) {
    static_cast<std::vector<Entry<T>>*>(at)->assign(texts.begin(), texts.end());
  };
  return field;
}

template <class Struct>
void append_rows(Struct& object, const std::string& section, std::vector<FieldRow>& rows) {
  for_each_field<Struct>([&](const auto& field) {
    auto& member = object.*field.member;
    using Member = std::remove_cvref_t<decltype(member)>;
    const std::string path = join_path(section, field.key);
    if constexpr (Described<Member>) {
      rows.push_back({path, field.help, field.limits, SectionField{}});
      append_rows(member, path, rows);
    } else if constexpr (Named<Member>) {
      rows.push_back({path, field.help, field.limits, enum_field(member)});
    } else if constexpr (kIsEntryList<Member>) {
      rows.push_back({path, field.help, field.limits, entries_field(member)});
    } else {
      rows.push_back({path, field.help, field.limits, &member});
    }
  });
}

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
