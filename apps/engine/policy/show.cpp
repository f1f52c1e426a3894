// `esper policy show`: what a policy file says of itself.

#include <nlohmann/json.hpp>

#include "base/text/standard_output.h"
#include "engine/commands.h"
#include "engine/policy/figures.h"

namespace esper::engine {

int run(const ShowPolicyRequest& request) {
  const auto shown = read_shown_policy(request.file);
  request.json ? base::write_json(policy_json(shown)) : print_policy(shown);
  return 0;
}

}  // namespace esper::engine
