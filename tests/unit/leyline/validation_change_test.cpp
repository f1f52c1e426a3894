#include "leyline/validation_change.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::leyline::validation_change_test {
namespace {

ValidationChange change(double loss, double error, double swing = 0) {
  return {.after = 1,
          .before = 5,
          .loss = loss,
          .loss_error = base::StandardError{error, 1e6},
          .loss_swing = base::StandardError{swing, 4}};
}

}  // namespace

TEST_CASE("a change is shown where its interval leaves 0 out") {
  CHECK(shows_improvement(change(-0.2, 0.1)));
  CHECK_FALSE(shows_improvement(change(-0.19, 0.1)));
  CHECK(shows_rise(change(0.2, 0.1)));
  CHECK_FALSE(shows_rise(change(0.19, 0.1)));
  CHECK(shows_improvement({.after = 1, .before = 1, .loss = -0.01}));  // no error is known
}

TEST_CASE("a rise lasts where it exceeds what epochs differ by, too") {
  CHECK(shows_lasting_rise(change(0.3, 0.1)));
  CHECK(shows_lasting_rise(change(0.3, 0, 0.1)));  // t of 4 degrees: 2.776
  CHECK_FALSE(shows_lasting_rise(change(0.27, 0, 0.1)));
  CHECK_FALSE(shows_lasting_rise(change(0.28, 0.1, 0.1)));
}

TEST_CASE("a window that is longer than what is known is cut") {
  const ValidationChange changes[] = {change(1, 0), change(2, 0)};
  CHECK(change_over(changes, 0) == nullptr);
  CHECK(change_over({}, 3) == nullptr);
  CHECK(change_over(changes, 1) == &changes[0]);
  CHECK(change_over(changes, 9) == &changes[1]);
}

}  // namespace esper::leyline::validation_change_test
