#include "engine/bench/growth_figures.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <nlohmann/json.hpp>

namespace bench = esper::engine::bench;
using Catch::Matchers::WithinAbs;

namespace {

bench::LoopFigures run(std::vector<double> step_us, std::vector<double> pause_ms) {
  bench::LoopFigures figures;
  figures.step_us = std::move(step_us);
  figures.pause_ms = std::move(pause_ms);
  figures.steps_per_epoch = 2;
  return figures;
}

}  // namespace

TEST_CASE("a growing run's typical times keep what comes every time and drop what comes once") {
  const auto typical =
      bench::typical_of({run({10, 30, 10, 90}, {5}), run({11, 31, 70, 11}, {50}), run({12, 32, 12, 12}, {6})});
  CHECK(typical.step_us == std::vector<double>{11, 31, 12, 12});
  CHECK(typical.pause_ms == std::vector<double>{6});
  CHECK(typical.steps_per_epoch == 2);
}

TEST_CASE("growing is measured against the steady steps of the same structure") {
  bench::LoopFigures figures = run(std::vector<double>(200, 100.0), std::vector<double>(9, 1.0));
  figures.steps_per_epoch = 20;
  for (std::size_t i = 100; i < 200; ++i) figures.step_us[i] = 200;  // the grown structure's steps
  figures.step_us[100] = 800;
  figures.step_us[101] = 500;
  figures.pause_ms[4] = 7;
  figures.events = {{{"description", "seed_stage"}, {"attributes", {{"to", "GERMINATED"}, {"epoch", "5"}}}}};
  const auto growth = bench::growth_json(figures);
  CHECK(growth.at("windows") == 1);
  CHECK(growth.at("steady_p50_us") == 200);
  CHECK_THAT(growth.at("ratio").get<double>(),
             WithinAbs(2.515, 1e-9));  // a hundredth of the way from the second slowest
  CHECK(growth.at("worst_step_stall_ms") == 0.6);
  CHECK(growth.at("worst_pause_stall_ms") == 6);
  CHECK(growth.at("worst_stall_ms") == 6);
}
