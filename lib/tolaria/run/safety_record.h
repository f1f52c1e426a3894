#pragma once
// How a run goes on after steps that went wrong: plain data, which checkpoints keep, so that a resumed run does the
// same.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace esper::tolaria {

struct RateCut {
  std::int64_t step = 0;  // from this step of the run on
  double factor = 1;      // on every learning rate, times those of the other cuts
  bool operator==(const RateCut&) const = default;
};

struct SafetyRecord {
  std::vector<std::int64_t> skipped_steps;  // of the run, ascending; those of earlier epochs are dropped
  std::vector<RateCut> rate_cuts;
  // Reactions since the last epoch that ended well.
  std::int32_t skips = 0, cuts = 0;
  bool operator==(const SafetyRecord&) const = default;

  bool skips_step(std::int64_t step) const;
  double rate_factor(std::int64_t step) const;
};

nlohmann::json to_json(const SafetyRecord& record);
// Of nothing: an empty record. Throws nlohmann::json::exception for a field of another type, std::out_of_range for an
// invalid number or a list that no run makes.
SafetyRecord safety_record_from_json(const nlohmann::json& saved);

}  // namespace esper::tolaria
