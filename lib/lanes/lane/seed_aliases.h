#pragma once
// Names of seeds that do not tell which number a seed has: "seed-0007" is "seed.1" where it is the oldest that lives.
// Training thread.

#include <string>
#include <vector>

#include "step/model.h"

namespace esper::lanes {

class SeedAliases {
 public:
  explicit SeedAliases(const step::Model& model);
  // The name with every seed's id in it replaced.
  std::string rename(const std::string& name) const;

 private:
  std::vector<std::string> ids_;  // in order of birth
};

}  // namespace esper::lanes
