#include "tamiyo/growth_forecast.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::tamiyo::growth_forecast_test {
namespace {

using leyline::Observation;
using leyline::SeedState;
using leyline::SlotState;
using leyline::Stage;

const Horizon kHorizon{20, 5};

// Epoch 10 of 20; the loss fell by 1 from the epochs around the third to those around the eighth.
Observation half_way(double half_width = 0.01) {
  Observation seen;
  seen.current_epoch = 10;
  seen.validation_changes = {
      {.after = 5, .before = 5, .loss = -1, .points = 10, .loss_error = base::StandardError{half_width, 1000}}};
  return seen;
}

SeedState fossil(const std::string& blueprint, std::uint32_t life) {
  SeedState seed;
  seed.blueprint = blueprint;
  seed.stage = Stage::kFossilized;
  seed.stage_epochs = 2;
  seed.age_epochs = life + 2;
  return seed;
}

base::Expected<std::string> forecast_of(const Observation& seen) {
  const SlotState slot{"r0c0", Stage::kDormant, {"small", "large"}, {0.1, 0.5}};
  const std::string blueprint = "large";
  return forecast({seen, slot, blueprint}, kHorizon);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("without earlier seeds the forecast is the shortest life and the counted cost") {
  const auto forecast = forecast_of(half_way());
  REQUIRE(forecast);
  CHECK(*forecast ==
        "forecast: part of the host after 5 of the 10 epochs left (at the earliest), a step of 1.5 times the "
        "multiply-adds, as many more as 5 epochs without it");
}

TEST_CASE("earlier seeds say how long one takes, those of its blueprint before all others") {
  auto seen = half_way();
  seen.seed_states = {fossil("small", 12)};
  REQUIRE_FALSE(forecast_of(seen));
  CHECK(forecast_of(seen).error() == "10 epochs left, and earlier seeds needed 12 to become part of the host");
  seen.seed_states.push_back(fossil("large", 6));
  seen.seed_states.push_back(fossil("large", 7));
  REQUIRE(forecast_of(seen));
  CHECK(contains(*forecast_of(seen), "after 7 of the 10 epochs left (as 2 seeds before it)"));
  seen.seed_states = {fossil("large", 0)};  // a module that the host had from the start
  CHECK(contains(*forecast_of(seen), "(at the earliest)"));
}

TEST_CASE("what earlier seeds are worth must exceed what the same time gains without another one") {
  // c = 1 / (1/3 - 1/8) = 4.8, and five epochs after the twentieth gain 4.8 (1/20 - 1/25) = 0.048.
  auto seen = half_way();
  seen.seed_states = {fossil("large", 6)};
  auto& figures = seen.seed_states[0].figures;
  figures.worth = {.loss = 0.04, .loss_half_width = 0.002, .epochs = 3, .horizon = 3};
  REQUIRE_FALSE(forecast_of(seen));
  CHECK(contains(forecast_of(seen).error(), "it would not pay"));
  CHECK(contains(forecast_of(seen).error(), "would gain 0.048"));
  figures.worth.loss_half_width = 0.0098;  // it may be 0.0498
  CHECK(forecast_of(seen));
  figures.worth.loss_half_width = 0.002;
  auto noisy = half_way(0.6);  // no improvement is shown that more epochs could repeat
  noisy.seed_states = seen.seed_states;
  CHECK(forecast_of(noisy));
}

TEST_CASE("a contribution counts where no worth was measured") {
  // 10 points in place of a loss of 1: the time gains 0.48 points.
  auto seen = half_way();
  seen.seed_states = {fossil("large", 6)};
  auto& figures = seen.seed_states[0].figures;
  figures.contribution_points = 0.3;
  CHECK(forecast_of(seen));  // without its interval it shows nothing
  figures.contribution_half_width_points = 0.1;
  CHECK_FALSE(forecast_of(seen));
  figures.contribution_half_width_points = 0.2;
  CHECK(forecast_of(seen));
}

}  // namespace esper::tamiyo::growth_forecast_test
