#pragma once
// Plain structs as JSON, both ways and exactly. A struct names its fields once, beside it or in the file that converts:
//
//   constexpr auto json_members(const Point*) {
//     return std::tuple{json_member("x", &Point::x), json_member("y", &Point::y)};
//   }
//   nlohmann::json document = to_json(point);
//   base::Expected<Point> read = from_json<Point>(document);  // "corners[2].x: expected a number, found \"left\""
//
// Fields: texts, numbers, booleans, named enums (by name), optionals (null without a value), vectors, maps by text,
// and such structs. Numbers that are not finite are the texts "nan", "inf" and "-inf".
//
// Documents may come from other programs: what is missing keeps its default; a field that is not known, a value of
// another type, a number that the field does not hold, a text or list beyond the limits is refused. Any thread.

#include <concepts>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/expected.h"
#include "base/names.h"
#include "base/text/json_fields.h"

namespace esper::base {

inline constexpr std::size_t kMostJsonText = 1 << 20;   // bytes of one text
inline constexpr std::size_t kMostJsonItems = 1 << 20;  // of one list or map

template <class Struct, class Field>
struct JsonMember {
  const char* name;
  Field Struct::* member;
};
template <class Struct, class Field>
constexpr JsonMember<Struct, Field> json_member(const char* name, Field Struct::* member) {
  return {name, member};
}

template <class T>
concept JsonStruct = requires { json_members(static_cast<const T*>(nullptr)); };

// One line; bytes that are no UTF-8 are replaced.
std::string json_line(const nlohmann::json& document);
// `most`: bytes. Refuses duplicate names, too.
Expected<nlohmann::json> parse_json(std::string_view text, std::size_t most);

// What was refused, and where: the path grows from the inside out.
struct JsonRefusal {
  std::string path, reason;
  void enter(const std::string& part);
  std::string message() const { return path.empty() ? reason : path + ": " + reason; }
};
using JsonCheck = std::optional<JsonRefusal>;  // empty: it was read

nlohmann::json number_json(double value);
JsonCheck refuse(const std::string& expected, const nlohmann::json& found);
JsonCheck read_number(const nlohmann::json& from, double& to);
JsonCheck read_text(const nlohmann::json& from, std::string& to);
JsonCheck check_list(const nlohmann::json& from);
JsonCheck check_map(const nlohmann::json& from);
JsonCheck check_names(const nlohmann::json& from, const std::vector<std::string>& known);

// Of each type one overload of each: to_json(value), and read_json(from, to).
template <class T>
nlohmann::json to_json(const T& value);
template <class T>
nlohmann::json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : nlohmann::json();
}
template <class T>
nlohmann::json to_json(const std::vector<T>& values) {
  auto list = nlohmann::json::array();
  for (const T& value : values) list.push_back(to_json(value));
  return list;
}
template <class T>
nlohmann::json to_json(const std::map<std::string, T>& values) {
  auto object = nlohmann::json::object();
  for (const auto& [name, value] : values) object[name] = to_json(value);
  return object;
}
template <class T>
nlohmann::json to_json(const T& value) {
  if constexpr (JsonStruct<T>) {
    auto object = nlohmann::json::object();
    std::apply([&](const auto&... field) { ((object[field.name] = to_json(value.*field.member)), ...); },
               json_members(static_cast<const T*>(nullptr)));
    return object;
  } else if constexpr (Named<T>) {
    return std::string(name_of(value));
  } else if constexpr (std::floating_point<T>) {
    return number_json(value);
  } else {
    return value;
  }
}

template <class T>
JsonCheck read_json(const nlohmann::json& from, T& to);
template <class T>
JsonCheck read_json(const nlohmann::json& from, std::optional<T>& to) {
  to.reset();
  return from.is_null() ? std::nullopt : read_json(from, to.emplace());
}
template <class T>
JsonCheck read_json(const nlohmann::json& from, std::vector<T>& to) {
  if (auto refused = check_list(from)) return refused;
  to.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (auto refused = read_json(from[i], to.emplace_back())) {
      refused->enter(std::string("[").append(std::to_string(i)).append("]"));
      return refused;
    }
  }
  return std::nullopt;
}
template <class T>
JsonCheck read_json(const nlohmann::json& from, std::map<std::string, T>& to) {
  if (auto refused = check_map(from)) return refused;
  to.clear();
  for (const auto& [name, value] : from.items()) {
    if (auto refused = read_json(value, to[name])) {
      refused->enter(name);
      return refused;
    }
  }
  return std::nullopt;
}

template <class T, class Field>
JsonCheck read_member(const nlohmann::json& from, T& to, const JsonMember<T, Field>& field) {
  const auto found = from.find(field.name);
  if (found == from.end()) return std::nullopt;
  auto refused = read_json(*found, to.*field.member);
  if (refused) refused->enter(field.name);
  return refused;
}

template <JsonStruct T>
JsonCheck read_struct(const nlohmann::json& from, T& to) {
  if (auto refused = check_map(from)) return refused;
  return std::apply(
      [&](const auto&... field) {
        JsonCheck refused = check_names(from, {field.name...});
        static_cast<void>(((refused = refused ? refused : read_member(from, to, field), !refused) && ...));
        return refused;
      },
      json_members(static_cast<const T*>(nullptr)));
}

template <std::integral T>
JsonCheck read_integer(const nlohmann::json& from, T& to) {
  const auto whole = from.is_number_integer() ? number_of<T>(from) : std::nullopt;
  if (!whole) return refuse("a whole number in range", from);
  to = *whole;
  return std::nullopt;
}

template <class T>
JsonCheck read_json(const nlohmann::json& from, T& to) {
  if constexpr (JsonStruct<T>) {
    return read_struct(from, to);
  } else if constexpr (Named<T>) {
    const auto value = from.is_string() ? from_name<T>(from.get_ref<const std::string&>()) : std::nullopt;
    if (!value) return refuse("one of " + all_names<T>(), from);
    to = *value;
    return std::nullopt;
  } else if constexpr (std::same_as<T, bool>) {
    if (!from.is_boolean()) return refuse("true or false", from);
    to = from.get<bool>();
    return std::nullopt;
  } else if constexpr (std::floating_point<T>) {
    double value = 0;
    auto refused = read_number(from, value);
    to = static_cast<T>(value);
    return refused;
  } else if constexpr (std::integral<T>) {
    return read_integer(from, to);
  } else {
    return read_text(from, to);
  }
}

template <class T>
Expected<T> from_json(const nlohmann::json& document) {
  T value;
  if (const auto refused = read_json(document, value)) return failure(refused->message());
  return value;
}

}  // namespace esper::base
