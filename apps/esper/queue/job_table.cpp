#include "esper/queue/job_table.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text/printable.h"

namespace esper {
namespace {

constexpr std::size_t kNameWidth = 24;

std::string time_text(std::int64_t ms) {
  if (ms == 0) return "-";
  return base::rfc3339(std::chrono::milliseconds(ms)).substr(0, 19) + "Z";
}

std::string value_text(const std::string& key, const nlohmann::json& value) {
  if (key.ends_with("_ms")) return time_text(value.get<std::int64_t>());
  return value.is_string() ? base::printable_line(value.get<std::string>()) : value.dump();
}

}  // namespace

std::string job_table(const nlohmann::json& jobs) {
  std::string text =
      fmt::format("{:>6}  {:10} {:>4}  {:{}}  {}\n", "job", "state", "prio", "name", kNameWidth, "reason");
  for (const auto& job : jobs) {
    text += fmt::format("{:>6}  {:10} {:>4}  {:{}}  {}\n", job.value("id", 0), job.value("state", ""),
                        job.value("priority", 0),
                        base::shortened(base::printable_line(job.value("name", "")), kNameWidth - 3), kNameWidth,
                        base::printable_line(job.value("reason", "")));
  }
  return text;
}

std::string job_details(const nlohmann::json& job) {
  std::string text;
  for (const auto& [key, value] : job.items()) text += fmt::format("{:14} {}\n", key, value_text(key, value));
  return text;
}

}  // namespace esper
