#include "leyline/observation_json.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "base/text/json_struct.h"
#include "support/logged_decision.h"

namespace esper::leyline::observation_json_test {

TEST_CASE("an observation comes back from its text, to the last bit") {
  const auto seen = test::full_observation();
  const std::string text = base::json_line(observation_json(seen));
  const auto document = base::parse_json(text, 100'000);
  REQUIRE(document);
  const auto again = read_observation(*document);
  REQUIRE(again);
  CHECK(base::json_line(observation_json(*again)) == text);
  CHECK(again->timestamp_ns == seen.timestamp_ns);
  CHECK(std::isnan(again->training_loss));
  CHECK(again->training_metrics.at("gradient_norm") == HUGE_VAL);
  CHECK(std::signbit(again->training_metrics.at("loss")));
  CHECK(again->seed_states.at(0).stage == Stage::kBlending);
  CHECK(again->seed_states.at(0).gradient_norm == 0.1F);
  CHECK(again->seed_states.at(0).figures.contribution_points == 1.0 / 3);
  CHECK(again->seed_states.at(0).figures.worth == seen.seed_states.at(0).figures.worth);
  CHECK(again->slots.at(0).parameters == seen.slots.at(0).parameters);
  CHECK(again->slots.at(0).kind == FeatureKind::kImage);
  CHECK(again->blocks.at(0).activation_units == 7);
  CHECK_FALSE(again->blocks.at(0).latency_ms);
  CHECK(again->validation_changes.at(0).loss_error->degrees == 11.5);
  CHECK_FALSE(again->validation_changes.at(0).loss_swing);
  CHECK(again->held_back == seen.held_back);
  CHECK(again->is_last);
}

TEST_CASE("an observation with a field of another type is refused with its place") {
  auto document = observation_json(test::full_observation());
  document["seed_states"][0]["stage"] = "SLEEPING";
  CHECK(
      read_observation(document).error_or("").starts_with("seed_states[0].stage: expected one of UNKNOWN, DORMANT, "));
}

}  // namespace esper::leyline::observation_json_test
