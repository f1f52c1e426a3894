#include "esper/queue/job_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "config/facts/estimate.h"
#include "esper/queue/job_requests.h"
#include "jobs/job/job_states.h"

namespace esper {
namespace {

using base::number_at;
using base::text_at;
using nlohmann::json;
using S = jobs::JobState;

constexpr std::size_t kNameWidth = 24, kProgressWidth = 20, kStateColumn = 8, kStateWidth = 10;
constexpr std::string_view kEllipsis = "...";

std::int64_t time_at(const json& job, const char* name) { return number_at<std::int64_t>(job, name).value_or(0); }

std::string time_text(std::int64_t ms) {
  if (ms == 0) return "-";
  return base::rfc3339(std::chrono::milliseconds(ms)).substr(0, 19) + "Z";
}

std::string value_text(const std::string& key, const json& value) {
  const auto ms = base::number_of<std::int64_t>(value);
  if (key.ends_with("_ms") && ms) return time_text(*ms);
  return value.is_string() ? base::printable_line(value.get<std::string>()) : value.dump();
}

// "740 MiB: parameters 12 KiB, process 700 MiB"; where the figure is unknown, why.
std::string estimate_text(const json& estimate) {
  const auto bytes = number_at<std::int64_t>(estimate, "bytes").value_or(0);
  const auto parts = base::printable_line(text_at(estimate, "parts"));
  if (bytes <= 0) return parts.empty() ? "-" : parts;
  return config::bytes_text(bytes) + (parts.empty() ? "" : ": " + parts);
}

// One line for each member, under a line with the name.
std::string forecast_lines(const std::string& name, const json& forecast) {
  std::string text = name + "\n";
  for (const auto& [key, value] : forecast.items()) {
    text += fmt::format("  {:16} {}\n", key, value.is_object() ? estimate_text(value) : value_text(key, value));
  }
  return text;
}

// How long it waits, runs, or ran.
std::string progress_text(const json& job, const TableStyle& style) {
  const auto state = state_of(job);
  const auto submitted = time_at(job, "submitted_ms"), started = time_at(job, "started_ms");
  const auto ended = time_at(job, "ended_ms");
  if (is_terminal(state)) return started == 0 || ended < started ? "-" : "in " + span_text(ended - started);
  const auto since = is_active(state) ? started : submitted;
  const std::string span = span_text(style.now_ms - since);
  const auto known = style.progress.find(time_at(job, "id"));
  return known == style.progress.end() ? span : known->second + ", " + span;
}

const char* colour_of(S state) {
  switch (state) {
    case S::kRunning:
    case S::kStarting:
      return "32";
    case S::kFailed:
    case S::kDiverged:
      return "31";
    case S::kStopping:
    case S::kPaused:
    case S::kHeld:
      return "33";
    default:
      return "0";
  }
}

std::string clipped(const std::string& line, std::size_t columns) {
  if (columns == 0) return line;
  const auto room = columns > 1 ? columns - 1 : 1;  // terminals wrap after the last column
  const auto whole = base::shortened(line, room);
  return whole == line ? line : base::shortened(line, room > kEllipsis.size() ? room - kEllipsis.size() : 0);
}

// Its characters up to the state's end are one column each.
std::string with_colour(std::string line, S state) {
  if (line.size() < kStateColumn + kStateWidth) return line;
  line.insert(kStateColumn + kStateWidth, "\x1b[0m");
  return line.insert(kStateColumn, fmt::format("\x1b[{}m", colour_of(state)));
}

std::string row(const std::string& id, const std::string& state, const std::string& priority, const std::string& name,
                const std::string& progress, const std::string& reason) {
  auto line = fmt::format("{:>6}  {:{}} {:>4}  {:{}}  {:{}}  {}", id, state, kStateWidth, priority,
                          base::shortened(base::printable_line(name), kNameWidth - kEllipsis.size()), kNameWidth,
                          progress, kProgressWidth, base::printable_line(reason));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string job_table(const json& jobs, const TableStyle& style) {
  std::string text = clipped(row("job", "state", "prio", "name", "time", "reason"), style.columns) + "\n";
  for (const auto& job : jobs) {
    const auto line =
        clipped(row(std::to_string(time_at(job, "id")), text_at(job, "state"), std::to_string(time_at(job, "priority")),
                    text_at(job, "name"), progress_text(job, style), text_at(job, "reason")),
                style.columns);
    text += (style.has_colours ? with_colour(line, state_of(job)) : line) + "\n";
  }
  return text;
}

std::string job_line(const json& job) {
  const auto reason = base::printable_line(text_at(job, "reason"));
  return fmt::format("job {} {} {}{}", time_at(job, "id"), text_at(job, "state"),
                     base::printable_line(text_at(job, "name")), reason.empty() ? "" : ": " + reason);
}

std::string job_details(const json& job, const std::string& epochs) {
  std::string text;
  for (const auto& [key, value] : job.items()) {
    if (key == "forecast" && value.is_object()) {
      text += forecast_lines(key, value);
    } else {
      text += fmt::format("{:14} {}\n", key, key == "epochs" ? epochs : value_text(key, value));
    }
  }
  return text;
}

std::string span_text(std::int64_t ms) {
  const std::int64_t s = std::max<std::int64_t>(ms, 0) / 1000;
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min", s / 60);
  if (s < 86400) return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86400, s / 3600 % 24);
}

}  // namespace esper
