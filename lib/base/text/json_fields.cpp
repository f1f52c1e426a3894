#include "base/text/json_fields.h"

#include <fmt/core.h>

#include "base/quantity.h"
#include "base/text/printable.h"

namespace esper::base {

using nlohmann::json;

const json& member(const json& object, const std::string& name) {
  static const json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::string text_at(const json& object, const std::string& name) {
  const json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

void fail_not_whole(const json& value, std::string_view name) {
  const auto shown = value.is_structured() ? std::string(value.type_name()) : shortened(value.dump());
  const auto field = name.empty() ? std::string() : std::string(name) + ": ";
  throw json::out_of_range::create(406, field + shown + " is not a whole number, or is out of range", &value);
}

std::string plain_reason(const std::exception& error) {
  const std::string text = error.what();
  const auto* of_json = dynamic_cast<const json::exception*>(&error);
  if (of_json == nullptr) return text;
  constexpr int kOtherReference = 303, kAt = 304, kOperator = 305, kValue = 306;  // their last word is the type found
  const std::string found = text.substr(text.rfind(' ') + 1);
  switch (of_json->id) {
    case kOtherReference:
      return "expected another type, found " + found;
    case kAt:  // by an index or by a name
    case kOperator:
      if (found == "object") return "expected a list, found object";
      if (found != "array") return "expected a list or an object, found " + found;
      [[fallthrough]];
    case kValue:
      return "expected an object, found " + found;
    default:
      return text.substr(text.find("] ") + 2);  // behind "[json.exception.NAME.NUMBER] "
  }
}

namespace {

bool is_possible_time(double time, std::chrono::duration<double> unit) {
  return time >= 0 && time * unit <= kLongestTime;
}

}  // namespace

std::optional<double> known_time_at(const json& object, const std::string& name, std::chrono::duration<double> unit) {
  const auto time = number_at(object, name);
  return time && is_possible_time(*time, unit) ? time : std::nullopt;
}

double time_at(const json& object, const std::string& name, std::chrono::duration<double> unit) {
  const double time = object.at(name);
  if (!is_possible_time(time, unit))
    throw std::out_of_range(fmt::format("{} is {}, which is not a possible duration", name, time));
  return time;
}

}  // namespace esper::base
