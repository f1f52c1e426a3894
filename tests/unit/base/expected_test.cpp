#include "base/expected.h"

#include <catch2/catch_test_macros.hpp>
#include <memory>

namespace esper::test::expected_test {

using namespace esper::base;

namespace {

enum class Kind { kSmall, kLarge };
struct ReportedFailure {
  std::string text;
  Kind kind;
};

Expected<int> half(int number) {
  if (number % 2 != 0) return failure("it is odd");
  return number / 2;
}

Expected<int, ReportedFailure> half_or_trouble(int number) {
  if (number % 2 != 0) return failure(ReportedFailure{"it is odd", number < 10 ? Kind::kSmall : Kind::kLarge});
  return number / 2;
}

Expected<void> check_even(int number) {
  if (const auto halved = half(number); !halved) return failure(halved.error());
  return {};
}

}  // namespace

TEST_CASE("there is a value or a reason") {
  const auto good = half(4), bad = half(3);
  REQUIRE(good);
  CHECK(*good == 2);
  CHECK(good.value() == 2);
  CHECK(good.error_or("none") == "none");
  REQUIRE_FALSE(bad);
  CHECK(bad.error() == "it is odd");
  CHECK(bad.error_or("none") == "it is odd");
}

TEST_CASE("asking for what is not there throws") {
  CHECK_THROWS_AS(half(3).value(), std::bad_variant_access);
  CHECK_THROWS_AS(half(4).error(), std::bad_variant_access);
  CHECK_THROWS(check_even(4).error());
}

TEST_CASE("a failure may be of a type of its own") {
  const auto small = half_or_trouble(3);
  REQUIRE_FALSE(small);
  CHECK(small.error().text == "it is odd");
  CHECK(small.error().kind == Kind::kSmall);
  CHECK(half_or_trouble(11).error().kind == Kind::kLarge);
  CHECK(*half_or_trouble(4) == 2);
}

TEST_CASE("what has nothing to give is done, or says why not") {
  CHECK(check_even(4));
  REQUIRE_FALSE(check_even(3));
  CHECK(check_even(3).error() == "it is odd");
  CHECK(check_even(4).error_or("none") == "none");
}

TEST_CASE("a value of text is no reason, and a value can be moved out") {
  const Expected<std::string> text = std::string("value");
  REQUIRE(text);
  CHECK(text->size() == 5);
  Expected<std::unique_ptr<int>> owner = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(owner);
  CHECK(*taken == 7);
}

}  // namespace esper::test::expected_test
