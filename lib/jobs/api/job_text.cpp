#include "jobs/api/job_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <iterator>
#include <string_view>

#include "base/names.h"
#include "base/text/json_struct.h"

namespace esper::jobs {
namespace {

bool is_plain(char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; }

void append_value(std::string& text, std::string_view value) {
  if (std::ranges::all_of(value, is_plain)) {
    text.append("\"").append(value).append("\"");
  } else {
    text += base::json_line(nlohmann::json(value));
  }
}

void append_value(std::string& text, std::integral auto value) {
  fmt::format_to(std::back_inserter(text), "{}", value);
}

template <base::Named Enum>
void append_value(std::string& text, Enum value) {
  append_value(text, base::name_of(value));
}

template <class T>
void append_value(std::string& text, const std::optional<T>& value) {
  value ? append_value(text, *value) : void(text += "null");
}

template <class T>
void append_value(std::string& text, const std::vector<T>& values) {
  text += '[';
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (at > 0) text += ',';
    append_value(text, values[at]);
  }
  text += ']';
}

template <base::JsonStruct Struct>
void append_value(std::string& text, const Struct& value, std::string_view left_out = {}) {
  char before = '{';
  const auto append_field = [&](const auto& field) {
    text += before;
    text.append("\"").append(field.name).append("\":");
    field.name == left_out ? void(text += "null") : append_value(text, value.*field.member);
    before = ',';
  };
  std::apply([&](const auto&... field) { (append_field(field), ...); },
             json_members(static_cast<const Struct*>(nullptr)));
  text += '}';
}

}  // namespace

void append_listed_json(std::string& text, const Job& job) { append_value(text, job, "forecast"); }

}  // namespace esper::jobs
