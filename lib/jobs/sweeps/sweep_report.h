#pragma once
// What clients see of a sweep. Plain data.

#include <cstddef>
#include <string>
#include <tuple>

#include "base/text/json_struct.h"
#include "jobs/job/sweep_record.h"
#include "sweep/summary_json.h"

namespace esper::jobs {

struct SweepReport {
  SweepRecord sweep;
  sweep::Summary summary;
};
constexpr auto json_members(const SweepReport*) {
  using R = SweepReport;
  return std::tuple{base::json_member("sweep", &R::sweep), base::json_member("summary", &R::summary)};
}

struct BestConfiguration {
  std::size_t configuration = 0;
  std::string config{};  // its run file
};
constexpr auto json_members(const BestConfiguration*) {
  using B = BestConfiguration;
  return std::tuple{base::json_member("configuration", &B::configuration), base::json_member("config", &B::config)};
}

}  // namespace esper::jobs
