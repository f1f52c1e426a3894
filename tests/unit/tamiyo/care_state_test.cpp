#include "tamiyo/care_state.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tamiyo/heuristic_state.h"
#include "tamiyo/service/service_state.h"

namespace esper::tamiyo::care_state_test {

using nlohmann::json;

TEST_CASE("a seed is forgotten in a policy's state, and in those of its shadows that can be read") {
  CareState state;
  state.asked = {{"r0c0", "norm"}, {"r0c1", "norm"}};
  state.seeds["seed-0001"].slot = "r0c0";
  state.seeds["seed-0002"].slot = "r0c1";
  state.seeds["seed-0002"].is_culled = true;
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

TEST_CASE("a saved state that is unusable is refused in plain words") {
  const auto refusal = [](const std::string& text) {
    try {
      forget_seed(text, "seed-0001", "r0c0");
    } catch (const base::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string start = "the saved state of the policy is unusable: ";
  CHECK(refusal("{").starts_with(start + "parse error at line 1, column 2: "));
  CHECK(refusal("{}") == start + "key 'format' not found");
  CHECK(refusal("null") == start + "expected a list or an object, found null");
}

TEST_CASE("a saved state with a count that no policy has is unusable") {
  for (const json& count : {json(1e300), json(1.5), json(-1), json("3")}) {
    CAPTURE(count.dump());
    json saved = care_json({});
    saved["last_epoch"] = count;
    CHECK_THROWS_AS(forget_seed(saved.dump(), "seed-0001", "r0c0"), base::Error);
    saved = care_json({});
    saved.update(heuristic_json({}));
    saved["prunes"] = {{"r0c0", count}};
    CHECK_THROWS_AS(forget_seed(saved.dump(), "seed-0001", "r0c0"), base::Error);
  }
}

TEST_CASE("the state of a seed that no CULL was commanded for is the same as an earlier version's") {
  CareState state;
  state.seeds["seed-0001"].slot = "r0c0";
  state.seeds["seed-0002"].is_culled = true;
  const json saved = care_json(state);
  CHECK_FALSE(saved["seeds"]["seed-0001"].contains("is_culled"));
  CHECK(saved["seeds"]["seed-0002"]["is_culled"] == true);
  CHECK(read_care(saved) == state);
}

TEST_CASE("the figures of the network with the seed are forgotten, and nothing else of the heuristic and the service") {
  HeuristicState heuristic;
  heuristic.host_stable = true;
  heuristic.penalties = {{"norm", 1.5}};
  json expected = care_json({});
  expected.update(heuristic_json(heuristic));
  expected["service"] = service_json({});
  expected["service"]["field_reports"] = {{"pending", json::array()}, {"published", 3}};

  heuristic.progress_accuracy = 0.8;
  heuristic.best_loss = 0.5;
  heuristic.losses = {0.5, 0.6};
  heuristic.accuracies = {0.8, 0.7};
  json saved = expected;
  saved.update(heuristic_json(heuristic));
  saved["service"]["last_validation_loss"] = 0.6;
  saved["service"]["field_reports"]["pending"].push_back({{"command", "a"}, {"loss", 0.6}});
  CHECK(json::parse(forget_seed(saved.dump(), "seed-0001", "r0c0")) == expected);
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
