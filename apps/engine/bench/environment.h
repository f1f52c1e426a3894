#pragma once
// What a measurement was made on. Two measurements may be compared only where it is the same.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "device/facts.h"

namespace esper::engine::bench {

// {"machine", "fingerprint": {cpu model, cores, flags, blas, onednn, torch, capability, threads, governor, clock, gpus,
// driver}, "now": {load, clock of this moment, time, kernel, commit}}. The fingerprint is what must be equal.
nlohmann::ordered_json environment(const std::string& commit);

}  // namespace esper::engine::bench
