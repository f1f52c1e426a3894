#pragma once
// What of a network its step's program depends on, as text: two networks of equal text, whatever their tensors hold,
// have the same program for the same microbatches. Training thread.

#include <string>
#include <vector>

#include "step/model.h"

namespace esper::lanes {

// Names of seeds that do not tell which number a seed has: "seed-0007" is "seed.1" where it is the oldest that lives.
class SeedAliases {
 public:
  explicit SeedAliases(const step::Model& model);
  // The name with every seed's id in it replaced.
  std::string rename(const std::string& name) const;

 private:
  std::vector<std::string> ids_;  // in order of birth
};

// Blueprints, slots, owners, and every parameter, buffer and scalar with type and shape, seeds by their aliases; none
// of seeds that are folded into the host. It changes when Network::structure_version() does, and where a structure
// comes back, so does its text.
std::string structure_of(const step::Model& model);

}  // namespace esper::lanes
