#pragma once
// What `esper verify-resume` found, as a document to keep. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/run_config.h"
#include "drill/training_plan.h"
#include "drill/verify_resume.h"

namespace esper::drill {

// What is in it beside the proof.
struct CertificateFacts {
  std::uint64_t seed = 1;
  std::string build;   // what names this esper
  std::string faults;  // that were armed in the environment, in every process
  std::string runs;    // the folder where the runs are kept; empty: they are not
};
// {"format": 1, "equal": true, "esper": ..., "config": {"file", "hash", "set"}, "begin": "start",
//  "reference_s": 4.1, "kills": 5, "wanted_kills": 5, "seed": 1, "faults": "", "runs_kept_in": "",
//  "runs": [{"processes": 6, "kills": [{"after_ms", "checkpoint", "counts"}], "compared": [{"name", "compared", "unit",
//  "equal",
//   "difference", "remark"}]}]}
// config: of the plan, as it was read before anything was trained.
nlohmann::ordered_json certificate(const ResumeProof& proof, const TrainingPlan& plan, const config::RunConfig& config,
                                   const CertificateFacts& facts);

}  // namespace esper::drill
