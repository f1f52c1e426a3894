#pragma once
// Fields of JSON documents that come from files and other processes. Any thread.
//
// member, text_at and number_at never throw: what is missing, of another type, or asked of what is no object, is not
// there. optional_of, optional_at, value_at and count_at are for documents that this program has written: they throw
// nlohmann::json::exception for a value of another type.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace esper::base {

// null where there is none.
const nlohmann::json& member(const nlohmann::json& object, const std::string& name);

// Empty where there is none.
std::string text_at(const nlohmann::json& object, const std::string& name);

template <class Number = double>
std::optional<Number> number_at(const nlohmann::json& object, const std::string& name) {
  const auto& value = member(object, name);
  return value.is_number() ? std::optional(value.get<Number>()) : std::nullopt;
}

// Nothing for null.
template <class T>
std::optional<T> optional_of(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<T>());
}

// Nothing where it is missing or null.
template <class T>
std::optional<T> optional_at(const nlohmann::json& object, const std::string& name) {
  return optional_of<T>(member(object, name));
}

// T() where it is missing or null.
template <class T>
T value_at(const nlohmann::json& object, const std::string& name) {
  return optional_at<T>(object, name).value_or(T());
}

// A whole number from 0 on that `Count` holds, else std::out_of_range.
template <class Count>
Count count_at(const nlohmann::json& object, const std::string& name) {
  const auto value = object.at(name).get<std::int64_t>();
  if (!std::in_range<Count>(value) || value < 0) throw std::out_of_range(name + " is " + std::to_string(value));
  return static_cast<Count>(value);
}

}  // namespace esper::base
