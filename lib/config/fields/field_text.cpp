#include "config/fields/field_text.h"

#include <charconv>
#include <cmath>
#include <type_traits>

#include "base/text/printable.h"

namespace esper::config {

using base::Duration;
using base::Length;
using base::printable_json;
using base::to_string;

namespace {

using nlohmann::ordered_json;

std::string shortest(double value) {
  char text[40];
  const auto result = std::to_chars(text, text + sizeof text, value);
  return std::string(text, result.ptr);
}

// Valid JSON strings are valid YAML strings in double quotes.
std::string quoted(const std::string& text) { return printable_json(ordered_json(text).dump()); }

template <class T>
std::string list_text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) {
    if (text.size() > 1) text += ", ";
    if constexpr (std::is_same_v<T, std::string>) {
      text += quoted(value);
    } else if constexpr (std::is_same_v<T, double>) {
      text += shortest(value);
    } else {
      text += std::to_string(value);
    }
  }
  return text + "]";
}

struct ToJson {
  ordered_json operator()(const SectionField&) const { return nullptr; }
  ordered_json operator()(const EnumField& field) const { return std::string(field.names.at(field.get(field.value))); }
  ordered_json operator()(const EntriesField& field) const { return field.get(field.value); }
  ordered_json operator()(const Duration* value) const { return to_string(*value); }
  ordered_json operator()(const Length* value) const { return to_string(*value); }
  template <class T>
  ordered_json operator()(const T* value) const {
    return *value;
  }
};

struct ToYaml {
  std::string operator()(const SectionField&) const { return ""; }
  std::string operator()(const EnumField& field) const { return std::string(field.names.at(field.get(field.value))); }
  std::string operator()(const EntriesField& field) const { return list_text(field.get(field.value)); }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const double* value) const { return shortest(*value); }
  std::string operator()(const std::string* value) const { return quoted(*value); }
  std::string operator()(const Duration* value) const { return to_string(*value); }
  std::string operator()(const Length* value) const { return to_string(*value); }
  template <class T>
  std::string operator()(const std::vector<T>* value) const {
    return list_text(*value);
  }
  template <class T>
  std::string operator()(const T* value) const {
    return std::to_string(*value);
  }
};

struct ToType {
  std::string operator()(const SectionField&) const { return "section"; }
  std::string operator()(const EnumField& field) const {
    std::string text = "one of ";
    for (const std::string_view name : field.names) {
      if (name != field.names.front()) text += ", ";
      text += name;
    }
    return text;
  }
  std::string operator()(const EntriesField&) const { return "list of texts"; }
  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const double*) const { return "number"; }
  std::string operator()(const std::string*) const { return "text"; }
  std::string operator()(const Duration*) const { return "duration"; }
  std::string operator()(const Length*) const { return "epochs or steps"; }
  std::string operator()(const std::vector<std::string>*) const { return "list of texts"; }
  std::string operator()(const std::vector<double>*) const { return "list of numbers"; }
  std::string operator()(const std::vector<std::int64_t>*) const { return "list of whole numbers"; }
  template <class T>
  std::string operator()(const T*) const {
    return "whole number";
  }
};

}  // namespace

ordered_json field_json(const FieldValue& value) { return std::visit(ToJson{}, value); }
std::string field_yaml(const FieldValue& value) { return std::visit(ToYaml{}, value); }
std::string type_text(const FieldValue& value) { return std::visit(ToType{}, value); }

std::string number_text(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) return std::to_string(static_cast<std::int64_t>(value));
  return shortest(value);
}

std::string limits_text(const Limits& limits) {
  if (limits.min && limits.max) return number_text(*limits.min) + " to " + number_text(*limits.max);
  if (limits.min) return ">= " + number_text(*limits.min);
  if (limits.max) return "<= " + number_text(*limits.max);
  return "";
}

}  // namespace esper::config
