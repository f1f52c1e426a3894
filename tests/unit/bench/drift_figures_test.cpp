#include "engine/bench/drift/drift_figures.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace esper::test::drift_figures_test {

namespace bench = esper::engine::bench;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using nlohmann::ordered_json;

namespace {

const std::vector<double> kStart{3, 4};

// From (3, 4) to (6, 8) in two steps.
bench::Trajectory reference() { return {{2, 1}, {{3, 4.5}, {6, 8}}, 0}; }

}  // namespace

TEST_CASE("steps are reported at 1, 2 and 5 of each decade, and the last") {
  CHECK(bench::reported_steps(1) == std::vector{1});
  CHECK(bench::reported_steps(4) == std::vector{1, 2, 4});
  CHECK(bench::reported_steps(20) == std::vector{1, 2, 5, 10, 20});
  CHECK(bench::reported_steps(120) == std::vector{1, 2, 5, 10, 20, 50, 100, 120});
}

TEST_CASE("drift is relative to the reference's loss, way and norm") {
  const bench::Trajectory other{{2.5, 1.25}, {{3, 4.5}, {6.3, 8.4}}, 0};
  const auto points = bench::drift_points(other, reference(), kStart, {1, 2});
  REQUIRE(points.size() == 2);
  CHECK(points[0].step == 1);
  CHECK_THAT(points[0].loss_difference, WithinAbs(0.25, 1e-12));
  CHECK(points[0].parameters_over_change == 0);
  CHECK_THAT(points[1].loss_difference, WithinAbs(0.25, 1e-12));
  CHECK_THAT(points[1].parameters_over_change, WithinAbs(0.1, 1e-12));
  CHECK_THAT(points[1].parameters_over_norm, WithinAbs(0.05, 1e-12));
}

TEST_CASE("a reference that does not move is divided by only where something differs") {
  const bench::Trajectory still{{0}, {kStart}, 0}, moved{{0.5}, {{3, 5}}, 0};
  CHECK(bench::drift_points(still, still, kStart, {1}).front().parameters_over_change == 0);
  const auto point = bench::drift_points(moved, still, kStart, {1}).front();
  CHECK(std::isinf(point.parameters_over_change));
  CHECK(std::isinf(point.loss_difference));
}

TEST_CASE("what is not finite is null, and a precision that cannot run says why") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const bench::Trajectory overflowed{{nan, 1}, {{3, 4}, {3, 4}}, 2};
  const auto points = bench::drift_points(overflowed, reference(), kStart, {1, 2});
  const ordered_json drift =
      bench::drift_json({{"fp16", 2, points, {}}, {"bf16", 0, {}, "no kernel for this type"}}, 2);
  CHECK(drift.at("rows").at(0).at("points").at(0).at("loss").is_null());
  CHECK(drift.at("rows").at(0).at("skipped_steps") == 2);
  CHECK(drift.at("refused").at(0).at("name") == "bf16");
  ordered_json report = {{"scenario", "mlp"},
                         {"environment", {{"fingerprint", {{"cpu", "a processor"}, {"threads", 1}}}}},
                         {"drift", drift}};
  CHECK_THAT(bench::drift_text(report), ContainsSubstring("not finite") && ContainsSubstring("2 steps overflowed") &&
                                            ContainsSubstring("no kernel for this type"));
}

}  // namespace esper::test::drift_figures_test
