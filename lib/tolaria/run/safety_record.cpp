#include "tolaria/run/safety_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text/json_fields.h"

namespace esper::tolaria {
namespace {

using nlohmann::json;

constexpr std::size_t kMostEntries = 10'000;

const json& list_at(const json& saved, const char* name) {
  const json& list = saved.at(name);
  if (!list.is_array() || list.size() > kMostEntries) throw std::out_of_range(name);
  return list;
}

}  // namespace

bool SafetyRecord::skips_step(std::int64_t step) const {
  return !skipped_steps.empty() && std::ranges::binary_search(skipped_steps, step);
}

double SafetyRecord::rate_factor(std::int64_t step) const {
  double factor = 1;
  for (const RateCut& cut : rate_cuts) {
    if (cut.step <= step) factor *= cut.factor;
  }
  return factor;
}

json to_json(const SafetyRecord& record) {
  json cuts = json::array();
  for (const RateCut& cut : record.rate_cuts) cuts.push_back({{"step", cut.step}, {"factor", cut.factor}});
  return {{"skipped_steps", record.skipped_steps}, {"rate_cuts", cuts}, {"skips", record.skips}, {"cuts", record.cuts}};
}

SafetyRecord safety_record_from_json(const json& saved) {
  SafetyRecord record;
  if (saved.is_null()) return record;
  for (const json& step : list_at(saved, "skipped_steps")) record.skipped_steps.push_back(step.get<std::int64_t>());
  for (const json& cut : list_at(saved, "rate_cuts")) {
    record.rate_cuts.push_back({base::count_at<std::int64_t>(cut, "step"), cut.at("factor").get<double>()});
    if (const double factor = record.rate_cuts.back().factor; !(factor > 0 && factor <= 1))
      throw std::out_of_range("factor");
  }
  if (!std::ranges::is_sorted(record.skipped_steps)) throw std::out_of_range("steps out of order");
  record.skips = base::count_at<std::int32_t>(saved, "skips");
  record.cuts = base::count_at<std::int32_t>(saved, "cuts");
  return record;
}

}  // namespace esper::tolaria
