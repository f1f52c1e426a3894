#pragma once
// The run of a job, as its run folder has it. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runs/run_record.h"

namespace esper {

// Its planned epochs are those that its sweep trains it to, where that decides. None where there is no run folder yet.
std::optional<runs::RunRecord> run_of_job(const nlohmann::json& job);

}  // namespace esper
