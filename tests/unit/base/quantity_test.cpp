#include "base/quantity.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdint>

namespace esper::test::quantity_test {

using namespace esper::base;
using namespace std::chrono_literals;

TEST_CASE("durations are read with their unit") {
  CHECK(parse_duration("500us") == Duration(500us));
  CHECK(parse_duration("5ms") == Duration(5ms));
  CHECK(parse_duration("2s") == Duration(2s));
  CHECK(parse_duration("1.5m") == Duration(90s));
  CHECK(parse_duration("1h") == Duration(1h));
  CHECK(parse_duration("7ns") == Duration(7ns));
  CHECK(parse_duration("0s") == Duration(0));
}

TEST_CASE("what is no duration is refused") {
  const auto* text = GENERATE("", "5", "s", "5 s", "-1s", "+1s", "1e3s", "1x", "nan", "infs", "1ss", "0x5s",
                              "99999999999h", "1s ", " 1s", "1.2.3s");
  CAPTURE(text);
  CHECK_FALSE(parse_duration(text).has_value());
}

TEST_CASE("a duration is written in the largest whole unit") {
  CHECK(to_string(Duration(90s)) == "90s");
  CHECK(to_string(Duration(3600s)) == "1h");
  CHECK(to_string(Duration(1500us)) == "1500us");
  CHECK(to_string(Duration(0)) == "0s");
  CHECK(to_string(Duration(120s)) == "2m");
}

TEST_CASE("durations survive being written and read") {
  for (std::int64_t count = 1; count < std::int64_t{4'000'000'000'000'000}; count = count * 3 + 7) {
    const Duration duration(count);
    CAPTURE(count);
    CHECK(parse_duration(to_string(duration)) == duration);
  }
}

TEST_CASE("lengths are read and written") {
  CHECK(parse_length("1 epoch") == Length{1, Length::Unit::kEpochs});
  CHECK(parse_length("epoch") == Length{1, Length::Unit::kEpochs});
  CHECK(parse_length("step") == Length{1, Length::Unit::kSteps});
  CHECK(parse_length("3 epochs") == Length{3, Length::Unit::kEpochs});
  CHECK(parse_length("200 steps") == Length{200, Length::Unit::kSteps});
  CHECK(parse_length("0 steps") == Length{0, Length::Unit::kSteps});
  CHECK(to_string(Length{1, Length::Unit::kEpochs}) == "1 epoch");
  CHECK(to_string(Length{0, Length::Unit::kSteps}) == "0 steps");
}

TEST_CASE("what is no length is refused") {
  const auto* text = GENERATE("", "3", "epochs", "3epochs", "-3 epochs", "3 weeks", "1.5 epochs", "3 epochs ",
                              "99999999999999999999 steps");
  CAPTURE(text);
  CHECK_FALSE(parse_length(text).has_value());
}

}  // namespace esper::test::quantity_test
