#pragma once
// The run of a job, as its run folder has it. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "runs/run_record.h"

namespace esper {

// Its planned epochs are those that its sweep trains it to, where that decides. None where there is no run folder yet.
std::optional<runs::RunRecord> run_of_job(const nlohmann::json& job);

// How many epochs the job's run is to have: its own, else of_run_file, which its run file has. 0: unknown, as where
// what the run accepted while it trained cannot be read.
std::int64_t planned_epochs_of(const nlohmann::json& job, std::int64_t of_run_file);

}  // namespace esper
