#include "esper/queue/change_lines.h"

#include <fmt/core.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/text/json_fields.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "esper/queue/job_requests.h"
#include "esper/queue/job_table.h"

namespace esper {
namespace {

std::int64_t id_of(const nlohmann::json& job) { return base::number_at<std::int64_t>(job, "id").value_or(0); }

// What of a job is worth a line of its own.
std::string outline(const nlohmann::json& job) {
  return job_line(job) + " " + base::json_line(base::member(job, "priority")) +
         base::json_line(base::member(job, "attempts"));
}

}  // namespace

std::string ChangeLines::line_of(const nlohmann::json& job) {
  const auto id = id_of(job);
  if (!is_wanted(job)) {
    known_.erase(id);
    return "";
  }
  Known& known = known_[id];
  known.has_ended = has_ended(job);
  const auto now = outline(job);
  const bool has_changed = std::exchange(known.outline, now) != now;
  forget_oldest();
  if (!has_changed) return "";
  if (options_.address.json) return base::printable_json(base::json_line(job)) + "\n";
  const auto time = base::rfc3339(base::Clock().wall()).substr(0, 19);
  return base::printable_line(fmt::format("{}Z {}", time, job_line(job))) + "\n";
}

void ChangeLines::forget_others(const nlohmann::json& jobs) {
  std::set<std::int64_t> ids;
  for (const auto& job : jobs) ids.insert(id_of(job));
  std::erase_if(known_, [&](const auto& entry) { return !ids.contains(entry.first); });
}

// Those that a list may still have are remembered, so that it brings no line again.
void ChangeLines::forget_oldest() {
  auto entry = known_.begin();
  for (auto others = static_cast<std::int64_t>(known_.size()) - options_.most(); others > 0; --others)
    entry = entry->second.has_ended ? known_.erase(entry) : std::next(entry);
}

bool ChangeLines::is_wanted(const nlohmann::json& job) const {
  const auto states = "," + options_.states + ",", state = "," + base::text_at(job, "state") + ",";
  const bool has_state = options_.states.empty() || states.find(state) != std::string::npos;
  const bool has_sweep = options_.sweep == 0 || base::number_at<std::int64_t>(job, "sweep") == options_.sweep;
  return has_state && has_sweep && (options_.name.empty() || options_.name == base::text_at(job, "name"));
}

}  // namespace esper
