#include "sweep/expand.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>

namespace esper::test::expand_test {

using namespace esper::sweep;

namespace {

using Scale = Range::Scale;
using Numbers = Range::Numbers;

Sweep sweep_of(Method method, int samples, std::vector<Parameter> parameters) {
  Sweep sweep;
  sweep.settings.method = method;
  sweep.settings.samples = samples;
  sweep.seeds = {4, 5};
  sweep.parameters = std::move(parameters);
  return sweep;
}

const Parameter kLetters{"letter", {"a", "b"}, {}, {}, {}};
const Parameter kDigits{"digit", {"1", "2", "3"}, {}, {}, {}};
const Parameter kReal{"real", {}, Range{0, 1, Scale::kLinear, Numbers::kReal}, {}, {}};
const Parameter kRareEnd{"rare", {}, Range{1, 40, Scale::kLog, Numbers::kWhole}, {}, {}};

bool all_differ(const std::vector<Configuration>& configurations) {
  return std::set(configurations.begin(), configurations.end()).size() == configurations.size();
}

}  // namespace

TEST_CASE("a grid is the product in the declared order, the last parameter fastest") {
  const auto all = configurations(sweep_of(Method::kGrid, 0, {kLetters, kDigits}));
  CHECK(all == std::vector<Configuration>{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"b", "1"}, {"b", "2"}, {"b", "3"}});
}

TEST_CASE("trials are every configuration with every seed") {
  const auto trials = expand(sweep_of(Method::kGrid, 0, {kLetters}));
  REQUIRE(trials.size() == 4);
  CHECK(trials[1].configuration == 0);
  CHECK(trials[1].seed == 5);
  CHECK(trials[1].assignments == std::vector<std::string>{"letter=a", "seed=5"});
  CHECK(trials[2].configuration == 1);
  CHECK(trials[2].assignments == std::vector<std::string>{"letter=b", "seed=4"});
}

TEST_CASE("halving starts all at the epochs of the first rung") {
  Sweep sweep = sweep_of(Method::kHalving, 1, {kReal});
  sweep.settings.halving.min_epochs = 2;
  CHECK(expand(sweep)[0].assignments.back() == "epochs=2");
}

TEST_CASE("draws differ, are repeatable, and more samples go on where fewer ended") {
  const auto few = configurations(sweep_of(Method::kRandom, 4, {kReal, kDigits}));
  const auto more = configurations(sweep_of(Method::kRandom, 40, {kReal, kDigits}));
  REQUIRE((few.size() == 4 && more.size() == 40));
  CHECK(std::equal(few.begin(), few.end(), more.begin()));
  CHECK(all_differ(more));
  Sweep other = sweep_of(Method::kRandom, 4, {kReal, kDigits});
  other.settings.seed = 2;
  CHECK(configurations(other) != few);
}

TEST_CASE("a parameter that is added leaves the draws of the others as they are") {
  const auto alone = configurations(sweep_of(Method::kRandom, 5, {kReal}));
  const auto both = configurations(sweep_of(Method::kRandom, 5, {kLetters, kReal}));
  for (std::size_t i = 0; i < 5; ++i) CHECK(both[i][1] == alone[i][0]);
}

TEST_CASE("of a discrete space no configuration is drawn twice, down to the last but one") {
  const auto drawn = configurations(sweep_of(Method::kRandom, 239, {kRareEnd, kLetters, kDigits}));
  CHECK(drawn.size() == 239);
  CHECK(all_differ(drawn));
}

TEST_CASE("where drawing repeats itself too often, what is free is taken in the order of the grid") {
  // Both at 1000: one draw in 500,000.
  const Parameter a{"a", {}, Range{1, 1000, Scale::kLog, Numbers::kWhole}, {}, {}};
  const auto drawn = configurations(sweep_of(Method::kRandom, 999, {a}));
  CHECK(drawn.size() == 999);
  CHECK(all_differ(drawn));
}

TEST_CASE("as many samples as there are configurations, or more, are the grid") {
  const auto grid = configurations(sweep_of(Method::kGrid, 0, {kLetters, kDigits}));
  CHECK(configurations(sweep_of(Method::kRandom, 6, {kLetters, kDigits})) == grid);
  CHECK(configurations(sweep_of(Method::kRandom, 7, {kLetters, kDigits})) == grid);
  CHECK(configurations(sweep_of(Method::kRandom, 5, {kLetters, kDigits})).size() == 5);
}

TEST_CASE("real numbers that run out after rounding end the draw") {
  const Parameter narrow{"a", {}, Range{1, 1.00001, Scale::kLinear, Numbers::kReal}, {}, {}};
  const auto drawn = configurations(sweep_of(Method::kRandom, 50, {narrow}));
  CHECK(drawn.size() == 2);
  CHECK(all_differ(drawn));
}

TEST_CASE("combinations are counted as far as 64 bits go") {
  CHECK(num_combinations(sweep_of(Method::kGrid, 0, {kLetters, kDigits})) == 6);
  CHECK_FALSE(num_combinations(sweep_of(Method::kRandom, 1, {kLetters, kReal})));
  const Parameter large{"a", {}, Range{0, 9e15, Scale::kLinear, Numbers::kWhole}, {}, {}};
  CHECK(num_combinations(sweep_of(Method::kRandom, 1, {large})) == 9'000'000'000'000'001);
  CHECK_FALSE(num_combinations(sweep_of(Method::kRandom, 1, {large, large})));
  CHECK(configurations(sweep_of(Method::kRandom, 3, {large, large})).size() == 3);
}

}  // namespace esper::test::expand_test
