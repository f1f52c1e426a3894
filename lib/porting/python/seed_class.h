#pragma once
// A grown module as a call of its Python class: "Lora(64, 8)". Training thread.

#include <span>
#include <string>
#include <string_view>

#include "config/host_config.h"
#include "kasmina/slot/slot.h"
#include "leyline/blueprint/feature_shape.h"

namespace esper::porting {

// Where a seed is.
struct SeedPlace {
  const kasmina::Slot& slot;  // that holds it
  std::size_t index;          // of the slot
  const config::HostConfig& host;
};

// The call that makes the module without the composition's gate, of the sizes that the seed has.
std::string seed_class(const SeedPlace& place);

// Which rows of the catalogue have a class. A row of leyline/blueprint/blueprint_table.h that is not here is a bug that
// a test finds, and the first export.
struct SeedClass {
  std::string_view blueprint;
  std::string (*call)(const SeedPlace& place);
};
std::span<const SeedClass> seed_classes(leyline::FeatureKind kind);

}  // namespace esper::porting
