#include "engine/bench/growth/growth_figures.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <nlohmann/json.hpp>
#include <vector>

namespace esper::test::growth_figures_test {

namespace bench = esper::engine::bench;
using Catch::Matchers::WithinAbs;

namespace {

// Ten epochs of 20 steps, 100 us each, until a module grows after the fifth: from there on 200 us, but for the first
// two.
bench::LoopFigures growing_run(double first_us, double second_us, double pause_after_growth_ms) {
  bench::LoopFigures figures;
  figures.steps_per_epoch = 20;
  figures.step_us.assign(100, 100);
  figures.step_us.resize(200, 200);
  figures.step_us[100] = first_us;
  figures.step_us[101] = second_us;
  figures.pause_ms.assign(9, 1);
  figures.pause_ms[4] = pause_after_growth_ms;
  figures.events = {{{"description", "seed_stage"}, {"attributes", {{"to", "GERMINATED"}, {"epoch", "5"}}}}};
  return figures;
}

}  // namespace

TEST_CASE("growing is measured against the steady steps of the same structure") {
  const auto growth = bench::growth_json(growing_run(800, 500, 7));
  CHECK(growth.at("windows") == 1);
  CHECK(growth.at("steady_p50_us") == 200);
  // The 99th percentile lies a hundredth of the way from the second slowest of the hundred to the slowest.
  CHECK_THAT(growth.at("ratio").get<double>(), WithinAbs(2.515, 1e-9));
  CHECK(growth.at("worst_step_stall_ms") == 0.6);
  CHECK(growth.at("worst_pause_stall_ms") == 6);
  CHECK(growth.at("worst_stall_ms") == 6);
}

TEST_CASE("of several growing runs each step's median counts, and the worst stall of any") {
  const std::vector<bench::LoopFigures> runs{growing_run(800, 500, 7), growing_run(9000, 200, 2),
                                             growing_run(300, 900, 5)};
  const auto growth = bench::growth_json(runs);
  CHECK_THAT(growth.at("ratio").get<double>(), WithinAbs(2.515, 1e-9));
  CHECK(growth.at("ratio_of_each_run").size() == 3);
  CHECK(growth.at("worst_step_stall_ms") == 8.8);
  CHECK(growth.at("worst_pause_stall_ms") == 6);
  CHECK(growth.at("worst_stall_ms") == 8.8);
}

}  // namespace esper::test::growth_figures_test
