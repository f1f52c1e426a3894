#include "kasmina/blueprint/blueprint.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "kasmina/blueprint/families.h"
#include "leyline/blueprint/blueprint_name.h"

namespace esper::kasmina {
namespace {

std::span<const Builder> builders_for(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kFeatures:
      return feature_builders();
    case FeatureKind::kImage:
      return image_builders();
    case FeatureKind::kSequence:
      return sequence_builders();
  }
  return {};
}

std::vector<Blueprint> with_builders() {
  std::vector<Blueprint> all;
  for (const auto& facts : leyline::blueprint_table()) {
    const auto builders = builders_for(facts.fits);
    const auto own = std::ranges::find(builders, facts.name, &Builder::name);
    ESPER_CHECK(own != builders.end(), "nothing builds the blueprint " + std::string(facts.name));
    all.push_back({facts, own->build});
  }
  const auto num_builders = feature_builders().size() + image_builders().size() + sequence_builders().size();
  ESPER_CHECK(num_builders == all.size(), "a module is built that the table of blueprints does not have");
  return all;
}

SeedForward build_sequence(const HostBlock& block, ModuleScope scope, int copies) {
  std::vector<SeedForward> parts;
  for (int i = 0; i < copies; ++i) parts.push_back(block.build(scope.child(copy_name(i))));
  return [parts](const torch::Tensor& x, Mode mode) {
    torch::Tensor y = x;
    for (const SeedForward& part : parts) y = part(y, mode);
    return y;
  };
}

}  // namespace

const std::vector<Blueprint>& blueprints() {
  static const std::vector<Blueprint> all = with_builders();
  return all;
}

const Blueprint* find_blueprint(std::string_view name, FeatureKind kind) {
  for (const Blueprint& row : blueprints()) {
    if (row.name == name && row.fits == kind) return &row;
  }
  return nullptr;
}

std::string copy_name(int index) { return fmt::format("copy{}", index); }

std::string name_of(const SeedKind& kind) {
  return leyline::BlueprintName{std::string(kind.blueprint->name), kind.copies}.text();
}

base::Expected<SeedKind> find_seed_kind(std::string_view name, FeatureKind kind) {
  const auto read = leyline::BlueprintName::parse(name);
  if (!read) return base::failure(read.error());
  const Blueprint* blueprint = find_blueprint(read->plain, kind);
  if (!blueprint) {
    return base::failure(fmt::format("no blueprint \"{}\" for features of kind {}", read->plain, to_string(kind)));
  }
  return SeedKind{blueprint, read->copies};
}

base::Expected<void> check_fit(const SeedKind& kind, const SlotSite& site) {
  if (auto fit = leyline::check_fit(*kind.blueprint, site.shape, kind.copies); !fit) return fit;
  if (kind.blueprint->birth != Birth::kWidening || site.hidden) return {};
  return base::failure(fmt::format("the block before {} cannot be widened", site.id));
}

SeedModule build_seed(const SeedKind& kind, const SlotSite& site, const std::string& seed_id, std::uint64_t run_seed,
                      torch::Device device) {
  const auto& [blueprint, copies] = kind;
  ESPER_CHECK(check_fit(kind, site), "a rejected blueprint is not built");
  const bool is_widening = blueprint->birth == Birth::kWidening;
  const bool is_drawn = blueprint->birth == Birth::kDrawn;
  ESPER_CHECK(is_drawn || is_widening || site.block, "there is no block to copy at " + site.id);
  SeedModule seed;
  const ModuleScope scope(seed.tensors, seed_id, run_seed, device);
  if (is_widening) {
    auto made = site.hidden->build(scope, blueprint->further_units(site.hidden->width));
    seed.forward = std::move(made.units);
    seed.further = {std::move(made.outlet), site.hidden->leads_to};
  } else if (is_drawn) {
    seed.forward = blueprint->build(scope, site.shape);
  } else if (copies == 1) {
    seed.forward = site.block->build(scope);
  } else {
    seed.forward = build_sequence(*site.block, scope, copies);
  }
  return seed;
}

std::string_view to_string(FeatureKind kind) { return base::name_of(kind); }

}  // namespace esper::kasmina
