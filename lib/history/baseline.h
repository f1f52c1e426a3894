#pragma once
// Comparing a benchmark's report with a saved one. Only ratios between interleaved rows are compared, and
// only on the machine of the saved report; never absolute times. Pure functions.

#include <nlohmann/json.hpp>
#include <string>

#include "base/expected.h"
#include "base/statistics.h"

namespace esper::history {

// That this is a complete report of a measurement; else what it lacks or has of another type.
base::Expected<void> check_report(const nlohmann::ordered_json& report);

// That two measurements are of the same scenario, workload and machine. Reads these three blocks alone, so that it can
// be asked before anything is measured.
base::Expected<void> check_same_measurement(const nlohmann::ordered_json& kept, const nlohmann::ordered_json& now);

// That two reports may be compared: both are whole, and they are of the same measurement.
base::Expected<void> check_comparable(const nlohmann::ordered_json& kept, const nlohmann::ordered_json& now);

struct BaselineVerdict {
  nlohmann::ordered_json
      json;           // {verdict, budget, floor, ratios [{name, kept, now, relative, interval, sign_p, verdict}]}
  std::string text;   // the same in lines
  int exit_code = 0;  // 0 pass, 1 slower, 75 too noisy to judge
};

// Each lane over "hand" and over "eager", where both reports have the pair: its quotient now over the kept one, by the
// rule of judge(). The noise floor is the larger of the two reports'. Throws Error{kConfig} where they are not
// comparable.
BaselineVerdict check_against_baseline(const nlohmann::ordered_json& kept, const nlohmann::ordered_json& now,
                                       double budget);

// {ratios {"a/b": {before, after, change}}} of the pairs that both have. Throws like check_against_baseline.
nlohmann::ordered_json baseline_difference(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after);

}  // namespace esper::history
