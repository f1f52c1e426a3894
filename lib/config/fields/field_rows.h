#pragma once
// The rows of any config struct (field.h): one for each of its fields, and of the sections in it.

#include <string>
#include <tuple>
#include <vector>

#include "base/names.h"
#include "config/fields/field_table.h"

namespace esper::config {

template <class T>
concept Described = requires { T::fields(); };

template <class Struct, class Visit>
void for_each_field(Visit&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Struct::fields());
}

template <base::Named E>
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

// They point into `object`. In declared order, a section before what it holds; `section`: where the struct is, empty at
// the top.
template <class Struct>
void append_rows(Struct& object, const std::string& section, std::vector<FieldRow>& rows) {
  for_each_field<Struct>([&](const auto& field) {
    auto& member = object.*field.member;
    using Member = std::remove_cvref_t<decltype(member)>;
    const std::string path = join_path(section, field.key);
    if constexpr (Described<Member>) {
      rows.push_back({path, field.help, field.limits, SectionField{}});
      append_rows(member, path, rows);
    } else if constexpr (base::Named<Member>) {
      rows.push_back({path, field.help, field.limits, enum_field(member)});
    } else if constexpr (kIsEntryList<Member>) {
      rows.push_back({path, field.help, field.limits, entries_field(member)});
    } else {
      rows.push_back({path, field.help, field.limits, &member});
    }
  });
}

}  // namespace esper::config
