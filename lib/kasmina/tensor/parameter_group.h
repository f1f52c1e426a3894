#pragma once
// Which parameters share an optimizer clock. Separate from network.h so that an optimizer does not need a network.

#include <cstdint>
#include <string>
#include <vector>

#include "kasmina/tensor/tensor_table.h"

namespace esper::kasmina {

// What a parameter copied of its source. Zeroed: its value is zero, so that its module is the identity, or, of a
// widening's outlet, its gradient is; of the moments it takes the second, the scale of its gradients, and not the
// first, their direction.
enum class CopyKind { kWhole, kZeroed };

struct ParameterCopy {
  std::string id, source;  // of the host; where the source is larger, the copy is of its leading part
  CopyKind kind = CopyKind::kWhole;
  double gradient_share = 1;  // its gradient at birth, in units of its source's
};

// Parameters that were created together and share one optimizer clock: "host" first, then each living seed in order of
// birth.
struct ParameterGroup {
  std::string id;     // "host", "seed-0001"
  std::string owner;  // "host" for the host and for fossilised seeds, else the seed's id
  std::vector<NamedTensor> parameters;
  std::string slot{};                // of a seed; empty for the host
  torch::Tensor training_gate{};     // of a seed: 0-dim float32, 0 where it must not learn; undefined for the host
  torch::Tensor isolation_gate{};    // of a growing seed: 0-dim float32, 0 where its gradient does not reach the host
  bool learns = true;                // the training gate is open
  std::uint32_t training_epoch = 0;  // complete epochs when the seed's training began; 0: not yet, or from the start
  bool in_shadow = false;            // a seed that trains in the shadow of the network: Network::shadow()
  std::vector<ParameterCopy> copies{};  // of a growing seed: its parameters that were born as copies
};

}  // namespace esper::kasmina
