#include "drill/scorecard.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace esper::drill {
namespace {

bool has_passed(const DrillResult& result) { return result.skipped.empty() && result.failures.empty(); }

auto count(const std::vector<DrillResult>& results, bool (*is_counted)(const DrillResult&)) {
  return std::ranges::count_if(results, is_counted);
}

auto failed_among(const std::vector<DrillResult>& results) {
  return count(results, [](const DrillResult& result) { return !result.failures.empty(); });
}

auto skipped_among(const std::vector<DrillResult>& results) {
  return count(results, [](const DrillResult& result) { return !result.skipped.empty(); });
}

std::string status_text(const DrillResult& result) {
  if (!result.skipped.empty()) return "skipped";
  return result.failures.empty() ? "passed " : "FAILED ";
}

}  // namespace

nlohmann::ordered_json scorecard(const std::vector<DrillResult>& results, const std::string& build,
                                 const std::string& runs) {
  nlohmann::ordered_json drills = nlohmann::ordered_json::array();
  for (const DrillResult& result : results) {
    drills.push_back({{"name", result.name},
                      {"about", result.about},
                      {"passed", has_passed(result)},
                      {"skipped", result.skipped},
                      {"failures", result.failures},
                      {"ends", result.ends},
                      {"events", result.events},
                      {"took_s", result.took_s}});
  }
  return {{"format", 1},
          {"esper", build},
          {"passed", count(results, has_passed)},
          {"failed", failed_among(results)},
          {"skipped", skipped_among(results)},
          {"runs_kept_in", runs},
          {"drills", drills}};
}

std::string scorecard_text(const std::vector<DrillResult>& results) {
  std::size_t width = 0;
  for (const DrillResult& result : results) width = std::max(width, result.name.size());
  std::string text;
  for (const DrillResult& result : results) {
    text += fmt::format("{:<{}}  {}  {:>6.1f} s  {}\n", result.name, width, status_text(result), result.took_s,
                        result.about);
    if (!result.skipped.empty()) text += fmt::format("{:<{}}    {}\n", "", width, result.skipped);
    for (const auto& failure : result.failures) text += fmt::format("{:<{}}    {}\n", "", width, failure);
  }
  text += fmt::format("{} of {} drills passed", count(results, has_passed), results.size());
  if (const auto skipped = skipped_among(results); skipped > 0) text += fmt::format(", {} skipped", skipped);
  return text + "\n";
}

bool none_failed(const std::vector<DrillResult>& results) { return failed_among(results) == 0; }

}  // namespace esper::drill
