#include "tamiyo/heuristic_state.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

namespace esper::tamiyo::heuristic_state_test {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

TEST_CASE("a state that went through JSON is the same") {
  HeuristicState state;
  state.last_prune_epoch = 4;
  state.best_loss = 0.1;
  state.prunes = {{"r0c0", 2}};
  CHECK(read_heuristic(json::parse(heuristic_json(state).dump())) == state);
}

TEST_CASE("a count that is no whole number is reported with its field") {
  json saved = heuristic_json({});
  saved["last_prune_epoch"] = 1.5;
  CHECK_THROWS_WITH(read_heuristic(saved), ContainsSubstring("last_prune_epoch: 1.5 is not a whole number"));
  saved = heuristic_json({});
  saved["prunes"] = {{"r0c0", 2.5}};
  CHECK_THROWS_WITH(read_heuristic(saved), ContainsSubstring("prunes.r0c0: 2.5 is not a whole number"));
}

}  // namespace esper::tamiyo::heuristic_state_test
