#include "kasmina/seed/alpha.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace esper::kasmina::alpha_test {
namespace {

using Catch::Approx;
using config::AlphaCurve;

TEST_CASE("every curve hits both ends exactly, rises, and is symmetric") {
  for (const auto curve : {AlphaCurve::kLinear, AlphaCurve::kCosine, AlphaCurve::kSigmoid}) {
    CHECK(curve_at(curve, 0) == 0.0);
    CHECK(curve_at(curve, 1) == 1.0);
    CHECK(curve_at(curve, 0.5) == Approx(0.5).epsilon(1e-12));
    for (int i = 1; i <= 100; ++i) CHECK(curve_at(curve, i / 100.0) > curve_at(curve, (i - 1) / 100.0));
  }
}

TEST_CASE("the curves have the heights of their formulas") {
  CHECK(curve_at(AlphaCurve::kLinear, 0.25) == 0.25);
  CHECK(curve_at(AlphaCurve::kCosine, 0.25) == Approx(0.5 - 0.5 * std::sqrt(0.5)));
  // (sigma(-3) - sigma(-6)) / (sigma(6) - sigma(-6)) = 0.0449532 / 0.9950548
  CHECK(curve_at(AlphaCurve::kSigmoid, 0.25) == Approx(0.0451766597).epsilon(1e-8));
}

TEST_CASE("alpha arrives at its target with the last tick and stays there") {
  for (const auto curve : {AlphaCurve::kLinear, AlphaCurve::kCosine, AlphaCurve::kSigmoid}) {
    auto alpha = hold_alpha(curve, 0);
    REQUIRE(retarget(alpha, 0.7, 5));
    double last = 0;
    for (int i = 1; i <= 4; ++i) {
      tick(alpha);
      CHECK(alpha.mode == AlphaMode::kUp);
      CHECK(alpha.value > last);
      CHECK(alpha.value < 0.7);
      last = alpha.value;
    }
    tick(alpha);
    CHECK(alpha.mode == AlphaMode::kHold);
    CHECK(alpha.value == 0.7);
    tick(alpha);
    CHECK(alpha.value == 0.7);
  }
}

TEST_CASE("a new target is taken only while holding") {
  auto alpha = hold_alpha(AlphaCurve::kLinear, 0);
  REQUIRE(retarget(alpha, 1, 2));
  tick(alpha);
  const auto before = alpha;
  CHECK_FALSE(retarget(alpha, 0, 3));
  CHECK(alpha == before);
  tick(alpha);
  REQUIRE(retarget(alpha, 0.5, 2));
  CHECK(alpha.mode == AlphaMode::kDown);
  tick(alpha);
  CHECK(alpha.value == 0.75);
  tick(alpha);
  CHECK(alpha.value == 0.5);
}

TEST_CASE("one tick is enough for a jump") {
  auto alpha = hold_alpha(AlphaCurve::kSigmoid, 0);
  REQUIRE(retarget(alpha, 1, 1));
  tick(alpha);
  CHECK(alpha.value == 1.0);
  CHECK(alpha.mode == AlphaMode::kHold);
}

}  // namespace
}  // namespace esper::kasmina::alpha_test
