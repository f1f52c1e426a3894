#include "kasmina/network/alpha_override.h"

#include "base/error.h"
#include "device/asynchronous_error.h"

namespace esper::kasmina {

AlphaOverride::AlphaOverride(const NetworkState& network, const std::string& seed_id, double alpha) {
  const auto* slot = find_seed(network.structure.slots, seed_id);
  ESPER_CHECK(slot, "no seed " + seed_id + " whose alpha could be overridden");
  const at::NoGradGuard no_grad;
  alpha_ = slot->seed->scalars.alpha;
  saved_ = alpha_.clone();
  alpha_.fill_(alpha);
}

AlphaOverride::~AlphaOverride() {
  const at::NoGradGuard no_grad;
  device::put_back([&] { alpha_.copy_(saved_); });
}

}  // namespace esper::kasmina
