#include "sweep/draw.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>

namespace esper::test::draw_test {

using namespace esper::sweep;

namespace {

Parameter ranged(const std::string& key, Range range) { return {key, {}, range, {}, {}}; }

const Range kWholeLog{1, 100, Range::Scale::kLog, Range::Numbers::kWhole};

}  // namespace

TEST_CASE("draws are these, on every machine") {
  const Parameter log = ranged("training.optimizer.lr", {1e-4, 1e-1, Range::Scale::kLog, Range::Numbers::kReal});
  const Parameter linear = ranged("training.label_smoothing", {0, 0.5, Range::Scale::kLinear, Range::Numbers::kReal});
  const Parameter whole = ranged("host.width", {8, 128, Range::Scale::kLinear, Range::Numbers::kWhole});
  std::vector<std::string> drawn;
  for (std::uint64_t i = 0; i < 3; ++i) {
    for (const Parameter& parameter : {log, linear, whole}) drawn.push_back(draw_value(parameter, 1, i));
  }
  CHECK(drawn == std::vector<std::string>{"0.0012404", "0.091474", "47", "0.00261962", "0.175687", "85", "0.00161869",
                                          "0.103214", "33"});
}

TEST_CASE("powers agree with the library's") {
  for (const double exponent : {0.0, 0.25, 1.0 / 3, 0.5, 0.999999, 1.0}) {
    for (const double base : {1e-6, 0.5, 1.0, 1000.0, 1e12}) {
      CHECK(power(base, exponent) == Catch::Approx(std::pow(base, exponent)).epsilon(1e-13));
    }
  }
}

TEST_CASE("a linear range is drawn evenly, a logarithmic one evenly in each decade") {
  const Parameter linear = ranged("a", {10, 20, Range::Scale::kLinear, Range::Numbers::kReal});
  const Parameter log = ranged("b", {1e-4, 1, Range::Scale::kLog, Range::Numbers::kReal});
  constexpr int kDraws = 20'000;
  std::map<int, int> tenths, decades;
  for (int i = 0; i < kDraws; ++i) {
    const double even = std::stod(draw_value(linear, 3, i)), by_decade = std::stod(draw_value(log, 3, i));
    REQUIRE((even >= 10 && even <= 20 && by_decade >= 1e-4 && by_decade <= 1));
    ++tenths[std::min(static_cast<int>(even - 10), 9)];
    ++decades[static_cast<int>(std::floor(std::min(std::log10(by_decade), -1e-9)))];
  }
  REQUIRE((tenths.size() == 10 && decades.size() == 4));
  // 5 standard deviations of a binomial count: 212 and 306.
  for (const auto& [tenth, count] : tenths) CHECK(std::abs(count - kDraws / 10) < 212);
  for (const auto& [decade, count] : decades) CHECK(std::abs(count - kDraws / 4) < 306);
}

TEST_CASE("whole numbers reach both ends, smaller ones more often on a logarithmic scale") {
  std::map<int, int> counts;
  for (std::uint64_t i = 0; i < 20'000; ++i) ++counts[std::stoi(draw_value(ranged("a", kWholeLog), 3, i))];
  CHECK(counts.size() == 100);
  CHECK(counts.begin()->first == 1);
  CHECK(counts.rbegin()->first == 100);
  // ln 2 / ln 101 of all draws are 1.
  CHECK(std::abs(counts[1] - 3004) < 253);
}

TEST_CASE("a draw depends on seed, parameter and counter, and on nothing else") {
  const Range range{0, 1, Range::Scale::kLinear, Range::Numbers::kReal};
  const Parameter a = ranged("a", range), b = ranged("b", range);
  CHECK(draw_value(a, 1, 0) == draw_value(a, 1, 0));
  CHECK(draw_value(a, 1, 0) != draw_value(b, 1, 0));
  CHECK(draw_value(a, 1, 0) != draw_value(a, 2, 0));
  CHECK(draw_value(a, 1, 0) != draw_value(a, 1, 1));
}

TEST_CASE("rounding never leaves the range") {
  const Parameter narrow = ranged("a", {0.12345678, 0.12345679, Range::Scale::kLinear, Range::Numbers::kReal});
  for (std::uint64_t i = 0; i < 20; ++i) {
    const double value = std::stod(draw_value(narrow, 1, i));
    CHECK((value >= 0.12345678 && value <= 0.12345679));
  }
}

TEST_CASE("values are counted, and numbered in order") {
  CHECK(num_values({"a", {"x", "y"}, {}, {}, {}}) == 2);
  CHECK(value_at({"a", {"x", "y"}, {}, {}, {}}, 1) == "y");
  CHECK(num_values(ranged("a", kWholeLog)) == 100);
  CHECK(value_at(ranged("a", kWholeLog), 99) == "100");
  CHECK_FALSE(num_values(ranged("a", {0, 1, Range::Scale::kLinear, Range::Numbers::kReal})));
}

}  // namespace esper::test::draw_test
