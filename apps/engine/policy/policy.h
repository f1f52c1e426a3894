#pragma once
// Who decides in a run: the policy that its configuration names, or one that was handed in.

#include <memory>
#include <string>

#include "config/run_config.h"
#include "lanes/structure/forecast.h"
#include "leyline/controller.h"
#include "tamiyo/service/run_policy.h"

namespace esper::engine {

struct Policy {
  std::unique_ptr<tamiyo::RunPolicy> policy;
  lanes::GerminationForecast forecast;  // null: nothing is known of the policy
};

// Whether the configuration names no policy: policy.kind none, or no growth at all.
bool never_grows(const config::RunConfig& config);

// cache_dir: of a compiled policy network, as program::private_cache_folder() takes it. controller: null takes the one
// that the configuration names.
Policy make_policy(const config::RunConfig& config, const std::string& cache_dir,
                   std::unique_ptr<leyline::Controller> controller = nullptr);
// One that restores what make_policy()'s would, and is asked nothing: a user's program is not started and need not be
// trusted, nothing is compiled. Without shadow policies, which refuse no state.
std::unique_ptr<tamiyo::RunPolicy> make_policy_for_state(const config::RunConfig& config);

}  // namespace esper::engine
