#pragma once
// A growing model whose runner prepares ahead, beside one that goes through the same life in eager.

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "support/models/growing_prepared.h"

namespace esper::tests {

// Goes through the same life in eager.
struct EagerReference {
  explicit EagerReference(const LaneCase& c = growing_case()) : eager(c, config::Lane::kEager) {}
  GrowingModel eager;

  void check_same(const GrowingModel& other) const {
    CHECK(first_difference(copies_of(*eager.model), copies_of(*other.model)) == "");
  }
};

inline void grow_both(EagerReference& reference, GrowingPrepared& ahead, const std::string& slot,
                      const std::string& blueprint) {
  REQUIRE_FALSE(GrowingModel::refused(reference.eager.apply(reference.eager.germination(slot, blueprint))));
  REQUIRE_FALSE(GrowingModel::refused(ahead.change(ahead.germination(slot, blueprint))));
}

inline void issue_both(EagerReference& reference, GrowingPrepared& ahead, leyline::SeedOperation operation,
                       const std::string& seed_id) {
  REQUIRE_FALSE(GrowingModel::refused(reference.eager.apply(reference.eager.command(operation, seed_id))));
  REQUIRE_FALSE(GrowingModel::refused(ahead.change(ahead.command(operation, seed_id))));
}

// At one epoch's end: the runner sees the structure that all of them lead to.
inline void apply_both(EagerReference& reference, GrowingPrepared& ahead,
                       const std::vector<leyline::AdaptationCommand>& commands) {
  for (const auto& command : commands) {
    REQUIRE_FALSE(GrowingModel::refused(reference.eager.apply(command)));
    REQUIRE_FALSE(GrowingModel::refused(ahead.apply(command)));
  }
  ahead.runner->structure_changes().take_structure(ahead.number);
}

inline void step_both(EagerReference& reference, GrowingPrepared& ahead, int count) {
  reference.eager.steps(count);
  ahead.steps(count);
  reference.check_same(ahead);
}

}  // namespace esper::tests
