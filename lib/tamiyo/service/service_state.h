#pragma once
// All that the service remembers between two evaluations, as plain data, and as JSON that a resumed run goes on from.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tamiyo/service/circuit_breaker.h"
#include "tamiyo/service/conservative_mode.h"

namespace esper::tamiyo {

struct ServiceState {
  CircuitBreaker breaker;
  ConservativeMode mode;
  std::optional<double> last_validation_loss;  // finite
  std::vector<std::string> held_back;          // of the last decision: as the next observation has it
  bool operator==(const ServiceState&) const = default;
};

nlohmann::json service_json(const ServiceState& state);
// A breaker that was open is open from `now` on. Throws nlohmann::json::exception or Error{kCheckpoint} for what is
// no such state.
ServiceState read_service(const nlohmann::json& saved, base::Duration now);
// The next loss in a saved state is compared with none.
void forget_loss(nlohmann::json& saved);

}  // namespace esper::tamiyo
