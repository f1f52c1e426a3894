#include "tamiyo/care_state.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace esper::tamiyo::care_state_test {

using nlohmann::json;

TEST_CASE("a seed is forgotten in a policy's state, and in those of its shadows that can be read") {
  CareState state;
  state.asked = {{"r0c0", "norm"}, {"r0c1", "norm"}};
  state.seeds["seed-0001"].slot = "r0c0";
  state.seeds["seed-0002"].slot = "r0c1";
  json saved = care_json(state);
  saved["own"] = 7;
  saved["question"] = {{"observation", {{"current_epoch", 3}}}};
  saved["shadows"] = {{"random", care_json(state).dump()}, {"none", "{}"}};
  const auto rest = json::parse(forget_seed(saved.dump(), "seed-0001", "r0c0"));

  CareState expected = state;
  expected.seeds.erase("seed-0001");
  expected.asked = {{"r0c1", "norm"}};
  CHECK(read_care(rest) == expected);
  CHECK(rest["own"] == 7);
  CHECK_FALSE(rest.contains("question"));  // it was about the network with the seed
  CHECK(read_care(json::parse(rest["shadows"]["random"].get<std::string>())) == expected);
  CHECK(rest["shadows"]["none"] == "{}");
  CHECK_THROWS_AS(forget_seed("{}", "seed-0001", "r0c0"), base::Error);
  CHECK_THROWS_AS(forget_seed("{", "seed-0001", "r0c0"), base::Error);
}

TEST_CASE("what a user's program remembers stays its own when a seed is forgotten; an open question goes") {
  CareState state;
  state.seeds["seed-0001"].slot = "r0c0";
  const json own = {{"process", {{"seeds", {{"seed-0001", 3}}}}}, {"service", {{"mode", 1}}}};
  json saved = own;
  saved["question"] = {{"observation", {{"current_epoch", 3}}}};
  CHECK(json::parse(forget_seed(saved.dump(), "seed-0001", "r0c0")) == own);
  saved["shadows"] = {{"random", care_json(state).dump()}, {"process", own.dump()}};
  const auto rest = json::parse(forget_seed(saved.dump(), "seed-0001", "r0c0"));
  CHECK(rest["process"] == own["process"]);
  CHECK(rest["shadows"]["process"] == own.dump());
  CHECK(read_care(json::parse(rest["shadows"]["random"].get<std::string>())).seeds.empty());
}

}  // namespace esper::tamiyo::care_state_test
