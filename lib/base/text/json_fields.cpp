#include "base/text/json_fields.h"

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

}  // namespace esper::base
