#pragma once
// Names of seeds that are independent of a seed's number: "seed-0007" is "seed.1" if it is the oldest living seed.
// Training thread.

#include <string>
#include <vector>

#include "step/model.h"

namespace esper::lanes {

class SeedAliases {
 public:
  explicit SeedAliases(const step::Model& model);
  // Replaces every seed id in the name.
  std::string rename(const std::string& name) const;

 private:
  std::vector<std::string> ids_;  // in order of birth
};

}  // namespace esper::lanes
