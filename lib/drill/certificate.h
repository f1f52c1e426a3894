#pragma once
// What `esper verify-resume` found, as a document to keep. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/run_config.h"
#include "drill/training_plan.h"
#include "drill/verify_resume.h"

namespace esper::drill {

// {"format": 1, "equal": true, "esper": ..., "config": {"file", "hash", "set"}, "begin": "start",
//  "reference_s": 4.1, "kills": 5, "seed": 1,
//  "runs": [{"processes": 6, "kills": [{"after_ms", "checkpoint", "counts"}], "compared": [{"name", "compared", "unit",
//  "equal",
//   "difference", "remark"}]}]}
// config: of the plan, as it was read before anything was trained. build: what names this esper.
nlohmann::ordered_json certificate(const ResumeProof& proof, const TrainingPlan& plan, const config::RunConfig& config,
                                   std::uint64_t seed, const std::string& build);

}  // namespace esper::drill
