#include "base/text/json_struct.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/text/nearest.h"
#include "base/text/printable.h"

namespace esper::base {

using nlohmann::json;

namespace {

constexpr char kNan[] = "nan", kInfinity[] = "inf", kMinusInfinity[] = "-inf";

// Of documents of other programs: deeper ones are nobody's.
constexpr int kMostDepth = 32;

}  // namespace

std::string json_line(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

Expected<json> parse_json(std::string_view text, std::size_t most) {
  if (text.size() > most) return failure(fmt::format("{} bytes, of which at most {} are read", text.size(), most));
  std::vector<std::set<std::string>> names;
  std::string refused;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMostDepth && refused.empty()) refused = fmt::format("nested more than {} deep", kMostDepth);
    if (event == json::parse_event_t::object_start) names.emplace_back();
    if (event == json::parse_event_t::object_end && !names.empty()) names.pop_back();
    if (event == json::parse_event_t::key && !names.empty() &&
        !names.back().insert(parsed.get_ref<const std::string&>()).second && refused.empty()) {
      refused = fmt::format("{} occurs twice", in_quotes(parsed.get_ref<const std::string&>()));
    }
    return refused.empty();
  };
  try {
    auto document = json::parse(text, check);
    if (!refused.empty()) return failure(refused);
    return document;
  } catch (const json::exception& error) {
    return failure(fmt::format("not valid JSON: {}", shortened(printable_line(plain_reason(error)), 160)));
  }
}

void JsonRefusal::enter(const std::string& part) {
  const bool joins = path.empty() || path.front() == '[';
  path = printable_line(shortened(part)) + (joins ? "" : ".") + path;
}

json number_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return kNan;
  return value > 0 ? kInfinity : kMinusInfinity;
}

JsonCheck refuse(const std::string& expected, const json& found) {
  const auto shown = found.is_structured() ? std::string(found.type_name()) : shortened(json_line(found));
  return JsonRefusal{"", fmt::format("expected {}, found {}", expected, printable_line(shown))};
}

JsonCheck read_number(const json& from, double& to) {
  if (from.is_number()) {
    to = from.get<double>();
    return std::nullopt;
  }
  const std::string text = from.is_string() ? from.get<std::string>() : "";
  if (text == kNan) {
    to = std::numeric_limits<double>::quiet_NaN();
  } else if (text == kInfinity || text == kMinusInfinity) {
    to = text == kInfinity ? HUGE_VAL : -HUGE_VAL;
  } else {
    return refuse("a number", from);
  }
  return std::nullopt;
}

JsonCheck read_text(const json& from, std::string& to) {
  if (!from.is_string()) return refuse("a string", from);
  const auto& text = from.get_ref<const std::string&>();
  if (text.size() > kMostJsonText) {
    return JsonRefusal{"", fmt::format("a string of {} bytes; at most {} are read", text.size(), kMostJsonText)};
  }
  to = text;
  return std::nullopt;
}

namespace {

JsonCheck check_items(const json& from) {
  if (from.size() <= kMostJsonItems) return std::nullopt;
  return JsonRefusal{"", fmt::format("{} entries; at most {} are read", from.size(), kMostJsonItems)};
}

}  // namespace

JsonCheck check_list(const json& from) { return from.is_array() ? check_items(from) : refuse("a list", from); }

JsonCheck check_map(const json& from) { return from.is_object() ? check_items(from) : refuse("an object", from); }

JsonCheck check_names(const json& from, const std::vector<std::string>& known) {
  for (const auto& [name, value] : from.items()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const auto meant = nearest(name, known);
    return JsonRefusal{"", fmt::format("{} is not one of its fields{}", in_quotes(name),
                                       meant ? fmt::format("; did you mean {}?", in_quotes(*meant)) : "")};
  }
  return std::nullopt;
}

}  // namespace esper::base
