#pragma once
// What a run that goes on, or a fork of it, may change of its run file.

#include <string>
#include <vector>

#include "config/run_config.h"

namespace esper {

// One line for each field in which they differ and that the training depends on, "\n  training.optimizer.lr: 0.05 ->
// 0.1", and after them, with `who` ("A resumed run"), what may be changed. Empty if nothing of that kind differs.
std::string forbidden_changes(const config::RunConfig& before, const config::RunConfig& after, const std::string& who);

// The run goes on with the settings that were changed while it trained (esper set). Throws Error{kConfig} if one of
// these is assigned, or differs in `after`, which the training would not follow. before: the run's own configuration.
void refuse_overridden(const std::string& run, const config::RunConfig& before, const config::RunConfig& after,
                       const std::vector<std::string>& assignments);

}  // namespace esper
