#include "kasmina/blueprint.h"

#include "base/error.h"
#include "base/names.h"
#include "kasmina/blueprint/families.h"

namespace esper::kasmina {
namespace {

std::vector<Blueprint> all_families() {
  std::vector<Blueprint> all = feature_blueprints();
  for (const Blueprint& row : image_blueprints()) all.push_back(row);
  for (const Blueprint& row : sequence_blueprints()) all.push_back(row);
  return all;
}

}  // namespace

const std::vector<Blueprint>& blueprints() {
  static const std::vector<Blueprint> all = all_families();
  return all;
}

const Blueprint* find_blueprint(std::string_view name, FeatureKind kind) {
  for (const Blueprint& row : blueprints()) {
    if (row.name == name && row.fits == kind) return &row;
  }
  return nullptr;
}

std::string refusal(const Blueprint& blueprint, const FeatureShape& shape) {
  if (blueprint.fits == shape.kind) return blueprint.refusal(shape);
  return "it is grown at a feature of kind " + std::string(to_string(blueprint.fits)) + ", and this is one of kind " +
         std::string(to_string(shape.kind));
}

SeedModule build_seed(const Blueprint& blueprint, const FeatureShape& shape, const std::string& seed_id,
                      std::uint64_t run_seed, torch::Device device) {
  ESPER_CHECK(refusal(blueprint, shape).empty(), "a refused blueprint is not built");
  SeedModule seed;
  seed.forward = blueprint.build(ModuleScope(seed.tensors, seed_id, run_seed, device), shape);
  return seed;
}

std::string_view to_string(FeatureKind kind) { return base::name_of(kind); }

}  // namespace esper::kasmina
