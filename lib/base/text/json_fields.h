#pragma once
// Fields of JSON documents that come from files and other processes. Any thread.
//
// member, text_at, number_of, number_at and known_time_at never throw: what is missing, of another type, or asked of
// what is no object, is not there. The others are for documents that this program has written: they throw
// nlohmann::json::exception for a value of another type, and for a number that the type does not hold. nlohmann's own
// get<> casts such a number, which is undefined.

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/whole_number.h"

namespace esper::base {

// null where there is none.
const nlohmann::json& member(const nlohmann::json& object, const std::string& name);

// Empty where there is none.
std::string text_at(const nlohmann::json& object, const std::string& name);

// Nothing where it is no number, or none that Number holds: 1e300 or 1.5 as a whole one.
template <class Number>
std::optional<Number> number_of(const nlohmann::json& value) {
  if (!value.is_number()) return std::nullopt;
  if constexpr (std::integral<Number>) {
    if (value.is_number_float()) return whole_number<Number>(value.get<double>());
    const bool holds = value.is_number_unsigned() ? std::in_range<Number>(value.get<std::uint64_t>())
                                                  : std::in_range<Number>(value.get<std::int64_t>());
    if (!holds) return std::nullopt;
  }
  return value.get<Number>();
}

template <class Number = double>
std::optional<Number> number_at(const nlohmann::json& object, const std::string& name) {
  return number_of<Number>(member(object, name));
}

// name: of the field, for the message; empty where it has none.
[[noreturn]] void fail_not_whole(const nlohmann::json& value, std::string_view name);

template <std::integral Whole>
Whole whole_of(const nlohmann::json& value, std::string_view name = {}) {
  const auto whole = number_of<Whole>(value);
  if (!whole) fail_not_whole(value, name);
  return *whole;
}

template <std::integral Whole>
Whole whole_at(const nlohmann::json& object, const std::string& name) {
  return whole_of<Whole>(object.at(name), name);
}

// Of a list.
template <std::integral Whole>
std::vector<Whole> wholes_of(const nlohmann::json& list) {
  std::vector<Whole> wholes;
  for (const auto& value : list.get_ref<const nlohmann::json::array_t&>()) wholes.push_back(whole_of<Whole>(value));
  return wholes;
}

// Nothing for null.
template <class T>
std::optional<T> optional_of(const nlohmann::json& value, std::string_view name = {}) {
  if (value.is_null()) return std::nullopt;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    return whole_of<T>(value, name);
  } else {
    return value.get<T>();
  }
}

// Nothing where it is missing or null.
template <class T>
std::optional<T> optional_at(const nlohmann::json& object, const std::string& name) {
  return optional_of<T>(member(object, name), name);
}

// T() where it is missing or null.
template <class T>
T value_at(const nlohmann::json& object, const std::string& name) {
  return optional_at<T>(object, name).value_or(T());
}

// What an error says to a user: of nlohmann's without their number and names of C++, of others what().
std::string plain_reason(const std::exception& error);

// A time in `unit`, from 0 to kLongestTime (base/quantity.h); others are as good as missing.
std::optional<double> known_time_at(const nlohmann::json& object, const std::string& name,
                                    std::chrono::duration<double> unit);

// The same, else std::out_of_range.
double time_at(const nlohmann::json& object, const std::string& name, std::chrono::duration<double> unit);

// A whole number from 0 on that `Count` holds, else std::out_of_range.
template <class Count>
Count count_at(const nlohmann::json& object, const std::string& name) {
  const auto value = whole_at<std::int64_t>(object, name);
  if (!std::in_range<Count>(value) || value < 0) throw std::out_of_range(name + " is " + std::to_string(value));
  return static_cast<Count>(value);
}

}  // namespace esper::base
