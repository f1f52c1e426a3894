#pragma once
// One scenario from its configuration to its report.

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/bench/workload.h"
#include "engine/scratch.h"
#include "esper/engine_api.h"

namespace esper::engine::bench {

// A scenario ready to be measured. Nothing was timed yet, so whatever can be refused is refused by what is here.
struct Session {
  Comparison comparison;
  config::RunConfig config;                     // with the made-up text, where there is one
  std::unique_ptr<Workload> workload, against;  // null: nothing is measured against it
  nlohmann::ordered_json header;                // {scenario, environment, workload}
};

// Throws Error as prepare_workload() and lanes::check_lane().
Session open_session(const Comparison& comparison, const config::RunConfig& config, const Scratch& scratch);
// Against another training's lanes, too. Throws Error as prepare_workload().
void set_against(Session& session, const config::RunConfig& config, const Scratch& scratch);

// The header and what report.h says, with `growth` for the scenario of that name, and with `epoch_lane`.
nlohmann::ordered_json run_scenario(const Session& session, const Scratch& scratch, Measured measured);

}  // namespace esper::engine::bench
