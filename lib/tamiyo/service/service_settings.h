#pragma once
// The settings of the service, as a run file has them. Pure functions.

#include "config/policy_config.h"
#include "tamiyo/service/evaluation.h"

namespace esper::tamiyo {

ServiceSettings service_settings(const config::PolicyConfig& policy);

}  // namespace esper::tamiyo
