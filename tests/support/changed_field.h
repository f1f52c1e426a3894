#pragma once
// A field of a configuration with another value, for tests that try all fields.

#include <type_traits>
#include <variant>

#include "config/fields/field_table.h"

namespace esper::test {

// Whether it was changed: entries, durations and lengths are left as they are.
inline bool change_field(const config::FieldValue& field) {
  return std::visit(
      []<class T>(const T& value) {
        if constexpr (std::is_same_v<T, config::EnumField>) {
          value.set(value.value, (value.get(value.value) + 1) % value.names.size());
          return true;
        } else if constexpr (std::is_same_v<T, bool*>) {
          *value = !*value;
          return true;
        } else if constexpr (std::is_pointer_v<T> && std::is_arithmetic_v<std::remove_pointer_t<T>>) {
          *value += 1;
          return true;
        } else if constexpr (std::is_same_v<T, std::string*>) {
          *value += "x";
          return true;
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>*> || std::is_same_v<T, std::vector<double>*>) {
          value->push_back(8);
          return true;
        } else {
          return false;
        }
      },
      field);
}

}  // namespace esper::test
