#include "esper/run_options.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <string>

#include "esper/output.h"

namespace esper::test::run_options_test {

namespace {

// Empty: it is taken.
std::string problem_of(const CLI::Validator& check, const std::string& text) { return check(text); }

}  // namespace

TEST_CASE("numbers of options are taken in decimal digits and within their range alone") {
  const auto count = whole_number(1);
  for (const char* text : {"1", "+7", "9223372036854775807"}) CHECK(problem_of(count, text).empty());
  for (const char* text : {"", "0", "-1", "9223372036854775808", "99999999999999999999", "1.5", "0x10", "010", "nan"})
    CHECK(problem_of(count, text) == "needs a whole number from 1 on, not \"" + std::string(text) + "\"");
  CHECK(problem_of(whole_number(1, 5), "6") == "needs a whole number from 1 to 5, not \"6\"");
  const auto any = whole_number(std::numeric_limits<std::int64_t>::min());
  CHECK(problem_of(any, "-9223372036854775808").empty());
  CHECK(!problem_of(any, "-9223372036854775809").empty());
}

TEST_CASE("one thing is counted without an s") {
  CHECK(counted(1, "checkpoint") == "1 checkpoint");
  CHECK(counted(0, "job") == "0 jobs");
}

}  // namespace esper::test::run_options_test
