#pragma once
// The settings of the service, as a run file has them. Pure functions.

#include "base/clock.h"
#include "config/policy_config.h"
#include "tamiyo/service/evaluation.h"

namespace esper::tamiyo {

// deadline: of an answer.
ServiceSettings service_settings(const config::PolicyConfig& policy, base::Duration deadline);

}  // namespace esper::tamiyo
