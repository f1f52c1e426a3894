#pragma once
// The report of `esper bench` as one JSON object; table.h has the same for users.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/bench/loop.h"
#include "engine/bench/measure.h"

namespace esper::engine::bench {

// {lanes [{lane, p50_us, p95_us, p99_us, warmup_ms, steps}], refused [{name, reason}], epoch,
// peers [{name, p50_us, p95_us, p99_us, warmup_ms, steps, optimizer}], ratios {"a/b": time of a over time of b},
// intervals {"a/b": [low, high]}, noise {ratio, interval, floor}, counts, disagreement,
// settings {esper, python}; on CUDA device_memory {peak_bytes, reserved_bytes}}
nlohmann::ordered_json measurement_json(const Measurement& measurement);

// {p50_ms, p95_ms, p99_ms, epochs, steps_per_epoch, parts_ms {name: p50}} of all but the first tenth of the epochs.
nlohmann::ordered_json epoch_json(const LoopFigures& figures);

// All but the first tenth.
std::vector<double> steady(const std::vector<double>& values);

// {p50, p95, p99, mean, max, count}
nlohmann::ordered_json distribution(const std::vector<double>& values);

nlohmann::ordered_json counts_json(const StepCounts& counts);

}  // namespace esper::engine::bench
