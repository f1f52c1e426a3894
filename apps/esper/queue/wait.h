#pragma once
// Waiting for jobs to end. Any thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "esper/queue/daemon_client.h"

namespace esper {

// Each job as it was when it had ended, in the order of `ids`. timeout_s: 0 looks once; none: no limit. Throws
// Error{kTryAgain} where they have not ended in time, or the daemon has.
std::vector<nlohmann::json> wait_for_end(const DaemonAddress& address, const std::vector<std::int64_t>& ids,
                                         std::optional<double> timeout_s);

}  // namespace esper
