#pragma once
// The files of the reference's drills, under its names: what each run's telemetry reported, with distributions.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/file_system.h"
#include "engine/bench/loop.h"

namespace esper::engine::bench {

// The reference workload with an answer in time, and with a policy that is too slow for its deadline of 1 ms.
LoopFigures run_normal_drill(const config::RunConfig& config, const Scratch& scratch);
LoopFigures run_timeout_drill(const config::RunConfig& config, const Scratch& scratch);
// A step goes wrong, and the return to the state before takes longer than its deadline of 5 ms, which halts the run.
// Only where single steps are watched (tolaria/safety/reactions.h) and inputs can be spoilt; why not, else empty.
std::string why_no_rollback_drill(const config::RunConfig& config);
LoopFigures run_rollback_drill(const config::RunConfig& config, const Scratch& scratch);

// {"tolaria": {metrics {name: value}, events [{description, level, attributes}], priority}, "tamiyo": likewise,
// "distributions" {name: {p50, p95, ...}}, "environment", "noise"}. Times and rates are medians over the
// epochs, all other metrics what they were at the end; those with labels are left out.
nlohmann::ordered_json drill_json(const LoopFigures& figures, const nlohmann::ordered_json& environment,
                                  const nlohmann::ordered_json& noise);

// {python_version, platform, cpu_count, cuda_devices, cuda_name} as the reference has it, with environment, the files
// that were written and those that were left out with the reason. no_rollback: as why_no_rollback_drill() has it.
nlohmann::ordered_json metadata_json(const nlohmann::ordered_json& environment, const std::string& no_rollback);

// Runs the drills and writes all files into `folder`, which is made; each is published whole. Throws IoError.
void write_artefacts(base::FileSystem& files, const std::string& folder, const nlohmann::ordered_json& report,
                     const config::RunConfig& config, const Scratch& scratch);

}  // namespace esper::engine::bench
