#pragma once
// The fields that may change while a run trains: numbers that are read before each step or at the end of an epoch, and
// are no part of a recorded step. Any thread.

#include <string>
#include <string_view>
#include <vector>

#include "base/text/problem.h"
#include "config/run_config.h"

namespace esper::config {

bool is_live_field(std::string_view path);
// "training.optimizer.lr, ..., and epochs unless ...", for messages.
std::string live_fields_text();

// One of them as in a run file; reading it gives the same value.
std::string live_value(const RunConfig& config, std::string_view path);

// Copies them, and touches no other field.
void take_live_fields(const RunConfig& from, RunConfig& to);

struct LiveConfig {
  RunConfig config;                     // `own` with the new values; to be used only where there are no problems
  std::vector<base::Problem> problems;  // of the assignments, and of the configuration that they lead to
};
// own: as the run began. Later assignments override earlier ones. Nothing but these fields is changed.
LiveConfig with_live_settings(const RunConfig& own, const std::vector<std::string>& assignments);

}  // namespace esper::config
