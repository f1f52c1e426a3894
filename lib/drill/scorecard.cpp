#include "drill/scorecard.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace esper::drill {
namespace {

auto passed_among(const std::vector<DrillResult>& results) {
  return std::ranges::count_if(results, [](const DrillResult& result) { return result.failures.empty(); });
}

}  // namespace

nlohmann::ordered_json scorecard(const std::vector<DrillResult>& results, const std::string& build,
                                 const std::string& runs) {
  nlohmann::ordered_json drills = nlohmann::ordered_json::array();
  for (const DrillResult& result : results) {
    drills.push_back({{"name", result.name},
                      {"about", result.about},
                      {"passed", result.failures.empty()},
                      {"failures", result.failures},
                      {"ends", result.ends},
                      {"events", result.events},
                      {"took_s", result.took_s}});
  }
  return {{"format", 1},
          {"esper", build},
          {"passed", passed_among(results)},
          {"failed", static_cast<std::int64_t>(results.size()) - passed_among(results)},
          {"runs_kept_in", runs},
          {"drills", drills}};
}

std::string scorecard_text(const std::vector<DrillResult>& results) {
  std::size_t width = 0;
  for (const DrillResult& result : results) width = std::max(width, result.name.size());
  std::string text;
  for (const DrillResult& result : results) {
    text += fmt::format("{:<{}}  {}  {:>6.1f} s  {}\n", result.name, width,
                        result.failures.empty() ? "passed" : "FAILED", result.took_s, result.about);
    for (const auto& failure : result.failures) text += fmt::format("{:<{}}    {}\n", "", width, failure);
  }
  return text + fmt::format("{} of {} drills passed\n", passed_among(results), results.size());
}

bool all_passed(const std::vector<DrillResult>& results) {
  return passed_among(results) == static_cast<std::int64_t>(results.size());
}

}  // namespace esper::drill
