#include "runs/moment.h"

#include <catch2/catch_test_macros.hpp>

#include "base/clock.h"

namespace esper::runs::moment_test {

TEST_CASE("times of day are read as they are written, and nothing else is") {
  for (const std::int64_t ms : {0LL, 1LL, 951'782'400'123LL, 1'800'000'000'999LL}) {
    CHECK(milliseconds_of(base::rfc3339(std::chrono::milliseconds(ms))) == ms);
  }
  CHECK(milliseconds_of("2026-03-01T12:00:00Z") == 1'772'366'400'000);
  CHECK(milliseconds_of("2026-03-01T12:00:00.5Z") == 1'772'366'400'500);
  for (const char* text : {"", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01 12:00:00Z", "2026-03-01T12:00:00.Z",
                           "2026-03-01T12:00:00.1x2Z", "2026-03-01T12:00:00+01:00", "yyyy-03-01T12:00:00Z"}) {
    CAPTURE(text);
    CHECK_FALSE(milliseconds_of(text));
  }
  CHECK(moment_text(1'772'366'400'500) == "2026-03-01 12:00:00");
}

TEST_CASE("ages are days, weeks and what durations are") {
  CHECK(parse_age("7d") == 7LL * 86'400'000);
  CHECK(parse_age("2w") == 14LL * 86'400'000);
  CHECK(parse_age("1.5d") == 129'600'000);
  CHECK(parse_age("36h") == 129'600'000);
  CHECK(parse_age("0d") == 0);
  for (const char* text : {"", "d", "7", "-1d", "7 d", "week", "nand", "1e300d"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_age(text));
  }
}

}  // namespace esper::runs::moment_test
