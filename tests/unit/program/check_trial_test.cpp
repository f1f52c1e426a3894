#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <limits>

#include "program/check.h"
#include "program/trial.h"

namespace esper::test::check_trial_test {

using namespace esper::program;
using Catch::Matchers::WithinRel;

namespace {

std::optional<Difference> compare(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual,
                                  double ties = 0, const at::Tensor& squares = {}) {
  const std::vector<Tracked> tracked = {{"same", before}, {"weight", before, {}, squares}};
  Tolerance tolerance = tolerance_of(c10::ScalarType::Float);
  tolerance.ties = ties;
  return first_difference(tracked, {before, before}, {expected, expected}, {expected, actual}, tolerance);
}

}  // namespace

TEST_CASE("rounding is no difference, a wrong factor is one, and the tensor is named") {
  at::manual_seed(1);
  const at::Tensor before = at::randn({1000}), change = at::randn({1000}) * 1e-3;
  const at::Tensor expected = before + change;
  CHECK_FALSE(compare(before, expected, before + change * (1 + 1e-5)));
  const auto difference = compare(before, expected, before + change * 0.9);
  REQUIRE(difference);
  CHECK(difference->tensor == "weight");
  CHECK_THAT(difference->difference, WithinRel(0.1, 0.05));
  CHECK(compare(before, expected, before));
}

TEST_CASE("an update that was divided by its own size is no difference where its gradient is all rounding") {
  at::manual_seed(1);
  constexpr std::int64_t kHalf = 500;
  constexpr double kGradient = 1e-2, kRounding = 1e-9, kRate = 1e-3;
  const at::Tensor size = at::cat({at::full({kHalf}, kGradient), at::full({kHalf}, kRounding)});
  const at::Tensor before = at::randn({2 * kHalf}), change = at::randn({2 * kHalf}).sign() * kRate;
  const auto compare_changes = [&](const at::Tensor& actual, const at::Tensor& squares) {
    return compare(before, before + change, before + actual, 0, squares);
  };
  const at::Tensor rounds_otherwise = at::cat({change.narrow(0, 0, kHalf), change.narrow(0, kHalf, kHalf).neg()});
  CHECK(compare_changes(rounds_otherwise, {}));
  CHECK_FALSE(compare_changes(rounds_otherwise, size.square()));
  CHECK(compare_changes(at::cat({change.narrow(0, 0, kHalf).neg(), change.narrow(0, kHalf, kHalf)}), size.square()));
  const auto other_rate = compare_changes(change * 1.02, size.square());
  REQUIRE(other_rate);
  CHECK_THAT(other_rate->difference, WithinRel(0.02, 0.05));
  // Without any gradient a parameter only decays, and that is compared.
  const at::Tensor none = at::zeros({2 * kHalf});
  CHECK_FALSE(compare_changes(change, none));
  CHECK(compare_changes(change * 1.02, none));
}

TEST_CASE("a change that is nothing beside the others of its kind may be all rounding") {
  at::manual_seed(1);
  const at::Tensor none = at::zeros({1000}), large = at::randn({1000});
  const auto compare_small = [&](double size, const at::Tensor& expected, const at::Tensor& actual, const char* kind) {
    const std::vector<Tracked> tracked = {{"large", none, "moments"}, {"small", none, kind}};
    return first_difference(tracked, {none, none}, {large, expected * size}, {large, actual * size},
                            tolerance_of(c10::ScalarType::Float));
  };
  const at::Tensor rounding = at::randn({1000}), other = at::randn({1000});
  CHECK_FALSE(compare_small(1e-8, rounding, other, "moments"));
  CHECK(compare_small(1e-8, rounding, other, "sums"));
  const auto wrong = compare_small(1e-5, rounding, other, "moments");
  REQUIRE(wrong);
  CHECK(wrong->tensor == "small");
  // Of a kind of which one is not finite nothing is known.
  const std::vector<Tracked> tracked = {{"small", none, "moments"}, {"broken", none, "moments"}};
  const at::Tensor broken = at::full({1000}, std::numeric_limits<double>::infinity());
  CHECK(first_difference(tracked, {none, none}, {rounding, broken}, {other, broken},
                         tolerance_of(c10::ScalarType::Float)));
}

TEST_CASE("values that are not finite are the same only where eager's are not either") {
  const at::Tensor before = at::zeros({4});
  const at::Tensor broken = at::full({4}, std::numeric_limits<float>::quiet_NaN());
  CHECK(compare(before, at::ones({4}), broken));
  CHECK_FALSE(compare(before, broken, broken));
}

TEST_CASE("a sum that is not finite hides no difference of the others, and makes none") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto sums = [](float first, float second) { return at::tensor({first, second, 3.0F}); };
  CHECK_FALSE(compare(sums(0, 1), sums(kInfinity, 2), sums(kInfinity, 2.00001F)));
  CHECK_FALSE(compare(sums(kInfinity, 1), sums(kInfinity, 2), sums(kInfinity, 2.00001F)));
  CHECK(compare(sums(kInfinity, 1), sums(kInfinity, 2), sums(kInfinity, 2.1F)));
  CHECK(compare(sums(0, 1), sums(kInfinity, 2), sums(2, kInfinity)));
  CHECK(compare(sums(0, 1), sums(kInfinity, 2), sums(7, 2)));
}

TEST_CASE("whole numbers may differ by a tie or two, not by more") {
  const at::Tensor before = at::zeros({}, at::kLong);
  CHECK_FALSE(compare(before, at::full({}, 100, at::kLong), at::full({}, 101, at::kLong)));
  CHECK(compare(before, at::full({}, 100, at::kLong), at::full({}, 90, at::kLong)));
  // Of few samples no tie is one in fifty.
  CHECK(compare(before, at::full({}, 8, at::kLong), at::full({}, 7, at::kLong)));
  CHECK_FALSE(compare(before, at::full({}, 8, at::kLong), at::full({}, 6, at::kLong), 2));
  CHECK(compare(before, at::full({}, 8, at::kLong), at::full({}, 5, at::kLong), 2));
  CHECK(compare(at::zeros({}), at::full({}, 8.0), at::full({}, 7.0), 2));
}

TEST_CASE("lanes take turns of twenty steps, three times, and the median decides") {
  using std::chrono::microseconds;
  Trial trial;
  int steps[2] = {0, 0};
  for (int n = 0; n < 1000 && !trial.done(); ++n) {
    const bool challenger = trial.turn() == Contender::kChallenger;
    ++steps[challenger];
    const bool disturbed = steps[challenger] % 7 == 0;
    trial.note(disturbed ? microseconds(900) : microseconds(challenger ? 50 : 100));
  }
  CHECK(steps[0] == 60);
  CHECK(steps[1] == 60);
  CHECK(trial.median(Contender::kIncumbent) == microseconds(100));
  CHECK_THAT(trial.speedup(), WithinRel(2.0, 1e-9));
}

}  // namespace esper::test::check_trial_test
