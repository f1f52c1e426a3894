#pragma once
// A seed's alpha replaced by another value, for a measurement. Training thread.

#include <torch/types.h>

#include <string>

#include "kasmina/network/network_state.h"

namespace esper::kasmina {

// Sets one seed's alpha to another value while it lives (evaluation only). Restores it exactly.
class AlphaOverride {
 public:
  AlphaOverride(const NetworkState& network, const std::string& seed_id, double alpha);
  ~AlphaOverride();
  AlphaOverride(const AlphaOverride&) = delete;
  AlphaOverride& operator=(const AlphaOverride&) = delete;

 private:
  torch::Tensor alpha_, saved_;
};

}  // namespace esper::kasmina
