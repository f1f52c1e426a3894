#pragma once
// A growing model whose runner prepares ahead, beside one that goes through the same life in eager.

#include <catch2/catch_test_macros.hpp>
#include <string>

#include "support/growing_ahead.h"

namespace esper::tests {

// Goes through the same life in eager.
struct Beside {
  explicit Beside(const LaneCase& c = growing_case()) : eager(c, config::Lane::kEager) {}
  GrowingModel eager;

  void check_same(const GrowingModel& other) const {
    CHECK(first_difference(copies_of(*eager.model), copies_of(*other.model)) == "");
  }
};

inline void grow_both(Beside& beside, GrowingAhead& ahead, const std::string& slot, const std::string& blueprint) {
  REQUIRE_FALSE(GrowingModel::refused(beside.eager.apply(beside.eager.germination(slot, blueprint))));
  REQUIRE_FALSE(GrowingModel::refused(ahead.change(ahead.germination(slot, blueprint))));
}

inline void tell_both(Beside& beside, GrowingAhead& ahead, leyline::SeedOperation operation,
                      const std::string& seed_id) {
  REQUIRE_FALSE(GrowingModel::refused(beside.eager.apply(beside.eager.command(operation, seed_id))));
  REQUIRE_FALSE(GrowingModel::refused(ahead.change(ahead.command(operation, seed_id))));
}

inline void step_both(Beside& beside, GrowingAhead& ahead, int count) {
  beside.eager.steps(count);
  ahead.steps(count);
  beside.check_same(ahead);
}

}  // namespace esper::tests
