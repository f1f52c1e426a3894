#pragma once
// The rows that widen the host's block before the slot: what they share at every kind of feature. Any thread.

#include <cstdint>
#include <string_view>

#include "leyline/blueprint/blueprint_sizes.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::leyline {

// Block says which block of the host is widened and what further units of it cost: kFits, width() in units, kFormula,
// num_parameters() and flops() of k units; kAsMany and kHalfAsMany are the rows' modules.
template <class Block, WideningUnits units>
constexpr BlueprintFacts widening_blueprint(std::string_view name, int policy_index, std::string_view module) {
  return {.name = name,
          .fits = Block::kFits,
          .policy_index = policy_index,
          .module = module,
          .start = "neutral: copies of units, which share their originals' outgoing weights",
          .formula = Block::kFormula,
          .num_parameters = [](const FeatureShape& s) { return Block::num_parameters(s, units(Block::width(s))); },
          .flops = [](const FeatureShape& s) { return Block::flops(s, units(Block::width(s))); },
          .birth = Birth::kWidening,
          .further_units = units};
}

template <class Block>
constexpr BlueprintFacts widen_blueprint() {
  return widening_blueprint<Block, as_many_units>("widen", policy_index::kWiden, Block::kAsMany);
}

template <class Block>
constexpr BlueprintFacts widen_half_blueprint() {
  return widening_blueprint<Block, half_as_many_units>("widen_half", policy_index::kWidenHalf, Block::kHalfAsMany);
}

}  // namespace esper::leyline
