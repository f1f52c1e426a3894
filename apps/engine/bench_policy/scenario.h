#pragma once
// `esper bench --scenario policy`: the policy network by itself, whole epochs that it decides, and what that costs a
// step.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/bench/bench.h"

namespace esper::engine::bench {

inline constexpr char kPolicyScenario[] = "policy";

// The session's header, and:
// {policy [{network, nodes, p50_us, p95_us, p99_us, warmup_ms, calls}], refused [{name, reason}], epoch {p50_ms,
// p95_ms, ...}, step {on_p50_us, off_p50_us, ratio, interval}, ratios [{nodes, "pyg_eager/folded",
// "pyg_eager/compiled"}]}; ratios are of the p95.
nlohmann::ordered_json run_policy_scenario(const Session& session, const Scratch& scratch, Measured measured);

}  // namespace esper::engine::bench
