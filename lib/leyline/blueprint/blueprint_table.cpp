#include "leyline/blueprint/blueprint_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/names.h"

namespace esper::leyline {
namespace {

std::vector<BlueprintFacts> all_rows() {
  std::vector<BlueprintFacts> all;
  for (const auto& part : {feature_blueprints(), image_blueprints(), sequence_blueprints()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

std::span<const BlueprintFacts> blueprint_table() {
  static const std::vector<BlueprintFacts> all = all_rows();
  return all;
}

const BlueprintFacts* find_blueprint_facts(std::string_view name, FeatureKind kind) {
  for (const BlueprintFacts& row : blueprint_table()) {
    if (row.name == name && row.fits == kind) return &row;
  }
  return nullptr;
}

bool is_blueprint(std::string_view name) {
  return std::ranges::find(blueprint_table(), name, &BlueprintFacts::name) != blueprint_table().end();
}

bool must_be_named(const BlueprintFacts& blueprint) {
  return blueprint.birth != Birth::kDrawn || blueprint.policy_index == policy_index::kNoop;
}

bool is_widening(std::string_view name) {
  return std::ranges::any_of(
      blueprint_table(), [&](const BlueprintFacts& row) { return row.name == name && row.birth == Birth::kWidening; });
}

base::Expected<void> check_fit(const BlueprintFacts& blueprint, const FeatureShape& shape, int copies) {
  if (blueprint.fits != shape.kind) {
    return base::failure(fmt::format("it fits features of kind {}, but this one has kind {}",
                                     base::name_of(blueprint.fits), base::name_of(shape.kind)));
  }
  const bool is_copy = blueprint.birth == Birth::kIdentityCopy || blueprint.birth == Birth::kPlainCopy;
  if (is_copy && !shape.uncopied.empty()) return base::failure(std::string(shape.uncopied));
  if (!is_copy && copies > 1) {
    return base::failure("only copies of the host's blocks, copy_block and copy_block_plain, come in numbers");
  }
  const auto lacks = [&](const Least& least) {
    return base::failure(fmt::format(fmt::runtime(least.otherwise), shape.channels));
  };
  if (shape.channels < blueprint.channels.count) return lacks(blueprint.channels);
  const auto positions = shape.positions();
  if (positions && *positions < blueprint.positions.count) return lacks(blueprint.positions);
  if (positions && shape.channels * *positions < blueprint.numbers.count) return lacks(blueprint.numbers);
  return {};
}

}  // namespace esper::leyline
