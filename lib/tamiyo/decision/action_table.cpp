#include "tamiyo/decision/action_table.h"

#include <algorithm>

namespace esper::tamiyo {

static_assert(std::ranges::is_sorted(kActionTable, {}, &ActionRow::action) &&
                  kActionTable.back().action == Action{kActions - 1},
              "a row's place is its action's number");

std::optional<leyline::SeedOperation> next_operation(leyline::Stage stage) {
  using leyline::SeedOperation;
  switch (stage) {
    case leyline::Stage::kGerminated:
      return SeedOperation::kStartTraining;
    case leyline::Stage::kTraining:
      return SeedOperation::kStartGrafting;
    case leyline::Stage::kBlending:
      return SeedOperation::kStabilize;
    case leyline::Stage::kShadowing:
      return SeedOperation::kEvaluate;
    case leyline::Stage::kProbationary:
      return SeedOperation::kFossilize;
    default:
      return std::nullopt;
  }
}

}  // namespace esper::tamiyo
