#pragma once
// The results of a run as JSON: summary.json in the run folder, and the output of `esper train --json`.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tolaria/run/run.h"
#include "tolaria/state/run_outcome.h"

namespace esper::tolaria {

// {loss, accuracy, ...}: a validation pass's figures by their names, those that the task has; of a checkpoint of an
// earlier version the loss and the accuracy alone.
nlohmann::ordered_json figures_json(const EpochFigures& figures);

// {run_dir, status, exit_code, reason, epochs, steps, wall_s, parameters, train {loss, accuracy}, validation {as
//  figures_json()}, best {epoch, as validation}, seeds [{seed_id, slot, blueprint, stage, alpha, params,
//  contribution}], checkpoints [{path, epoch, step}]}; contribution in accuracy points, null where it was not measured.
// With fp16 also skipped_steps: of the steps, those that the loss scaling skipped.
nlohmann::ordered_json summarize(const Run& run, const RunOutcome& outcome, const std::string& run_dir);

// {from, until, wall_ms, ms {owner: ...}} of this process, as history::read_run_ledger reads it: the ledger of the
// training thread's time from its start until now. `from` and `until` are times of day, RFC 3339.
nlohmann::ordered_json summarize_ledger(base::Ledger& ledger, const base::Clock& clock);

}  // namespace esper::tolaria
