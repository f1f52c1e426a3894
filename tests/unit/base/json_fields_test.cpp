#include "base/text/json_fields.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::json_fields_test {

using namespace esper::base;
using Catch::Matchers::Message;
using nlohmann::json;

namespace {

const json kDocument = {{"text", "a"}, {"number", 1.5}, {"whole", 3}, {"null", nullptr}, {"object", {{"text", "b"}}}};

}  // namespace

TEST_CASE("what is missing, or is asked of what is no object, is null") {
  CHECK(member(kDocument, "whole") == 3);
  CHECK(member(kDocument, "none").is_null());
  CHECK(member(member(kDocument, "object"), "text") == "b");
  for (const json& other : {json(), json(7), json::array({1}), json(json::value_t::discarded)}) {
    CHECK(member(other, "whole").is_null());
    CHECK(text_at(other, "text").empty());
    CHECK_FALSE(number_at(other, "number"));
  }
}

TEST_CASE("a field of another type is not there for those who do not insist") {
  CHECK(text_at(kDocument, "text") == "a");
  CHECK(text_at(kDocument, "whole").empty());
  CHECK(number_at(kDocument, "number") == 1.5);
  CHECK(number_at<std::int64_t>(kDocument, "whole") == 3);
  CHECK_FALSE(number_at(kDocument, "text"));
}

TEST_CASE("a field that may be missing or null is an error where it is of another type") {
  CHECK(optional_at<std::string>(kDocument, "text") == "a");
  CHECK_FALSE(optional_at<std::string>(kDocument, "none"));
  CHECK_FALSE(optional_at<std::string>(kDocument, "null"));
  CHECK_THROWS_AS(optional_at<std::string>(kDocument, "whole"), json::exception);
  CHECK(value_at<std::string>(kDocument, "text") == "a");
  CHECK(value_at<std::vector<std::string>>(kDocument, "none").empty());
  CHECK_THROWS_AS(value_at<std::string>(kDocument, "whole"), json::exception);
  CHECK(optional_of<double>(kDocument["number"]) == 1.5);
  CHECK_FALSE(optional_of<double>(json()));
}

TEST_CASE("a number that the type does not hold is not there for those who do not insist, and an error for others") {
  CHECK(number_of<std::int64_t>(json(3.0)) == 3);
  CHECK(number_of<std::uint64_t>(json(18446744073709551615u)) == 18446744073709551615u);
  for (const json& value : {json(1e300), json(-1e300), json(1.5), json(HUGE_VAL), json(18446744073709551615u),
                            json("3"), json(true), json()}) {
    CAPTURE(value.dump());
    CHECK_FALSE(number_of<std::int64_t>(value));
    CHECK_FALSE(number_at<std::int64_t>({{"n", value}}, "n"));
    CHECK_THROWS_AS(whole_of<std::int64_t>(value), json::exception);
    CHECK_THROWS_AS(whole_at<std::int64_t>({{"n", value}}, "n"), json::exception);
    CHECK_THROWS_AS(count_at<std::int64_t>({{"n", value}}, "n"), json::exception);
    CHECK_THROWS_AS(wholes_of<std::int64_t>({1, value}), json::exception);
    if (!value.is_null()) CHECK_THROWS_AS(optional_of<std::int64_t>(value), json::exception);
  }
  CHECK_FALSE(number_of<std::uint32_t>(json(-1)));
  CHECK_THROWS_AS(whole_of<std::uint32_t>(json(-1)), json::exception);
  CHECK(wholes_of<std::int32_t>({1, 2.0, -3}) == std::vector<std::int32_t>{1, 2, -3});
  CHECK_THROWS_AS(wholes_of<std::int32_t>(json(1)), json::exception);
  CHECK_FALSE(optional_of<std::int64_t>(json()));
  CHECK(value_at<std::uint32_t>({{"n", 7}}, "n") == 7);
}

TEST_CASE("the message of a number that is not whole names its field") {
  const json document = {{"n", 1.5}, {"fits", 3}};
  const auto names_field =
      Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("n: 1.5 is not a whole number"));
  CHECK_THROWS_MATCHES(whole_at<std::int64_t>(document, "n"), json::exception, names_field);
  CHECK_THROWS_MATCHES(count_at<std::int64_t>(document, "n"), json::exception, names_field);
  CHECK_THROWS_MATCHES(optional_at<std::int64_t>(document, "n"), json::exception, names_field);
  CHECK_THROWS_MATCHES(value_at<std::int64_t>(document, "n"), json::exception, names_field);
  CHECK(whole_at<std::int64_t>(document, "fits") == 3);
}

TEST_CASE("a count is there, whole, and fits") {
  CHECK(count_at<std::uint32_t>({{"n", 4294967295}}, "n") == 4294967295);
  CHECK_THROWS_MATCHES(count_at<std::uint32_t>({{"n", 4294967296}}, "n"), std::out_of_range,
                       Message("n is 4294967296"));
  CHECK_THROWS_MATCHES(count_at<std::int64_t>({{"n", -1}}, "n"), std::out_of_range, Message("n is -1"));
  CHECK_THROWS_AS(count_at<std::int64_t>(kDocument, "none"), json::exception);
  CHECK_THROWS_AS(count_at<std::int64_t>(kDocument, "text"), json::exception);
}

TEST_CASE("a time is one that a run can have taken, in its unit") {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  CHECK(time_at({{"s", 0}}, "s", seconds(1)) == 0);
  CHECK(time_at({{"s", 3e9}}, "s", seconds(1)) == 3e9);  // 95 years
  CHECK(time_at({{"ms", 3e12}}, "ms", milliseconds(1)) == 3e12);
  for (const double value : {-1.0, 3.2e9, 1e300}) {
    CHECK_THROWS_AS(time_at({{"s", value}}, "s", seconds(1)), std::out_of_range);
    CHECK_FALSE(known_time_at({{"s", value}}, "s", seconds(1)));
  }
  CHECK_THROWS_MATCHES(time_at({{"took_ms", 1e300}}, "took_ms", milliseconds(1)), std::out_of_range,
                       Message("took_ms is 1e+300, which is not a possible duration"));
  CHECK_THROWS_AS(time_at(kDocument, "none", seconds(1)), json::exception);
  CHECK_THROWS_AS(time_at(kDocument, "text", seconds(1)), json::exception);
  CHECK(known_time_at({{"ms", 3e12}}, "ms", milliseconds(1)) == 3e12);
  CHECK_FALSE(known_time_at({{"ms", 3.2e12}}, "ms", milliseconds(1)));
  CHECK_FALSE(known_time_at(kDocument, "none", seconds(1)));
  CHECK_FALSE(known_time_at(kDocument, "text", seconds(1)));
  CHECK_FALSE(known_time_at(json(), "s", seconds(1)));
}

TEST_CASE("the reason of an error is without what the library is called by in C++") {
  const auto reason = [](const auto& read) {
    try {
      read();
    } catch (const std::exception& error) {
      return plain_reason(error);
    }
    return std::string();
  };
  const json number = 7, null, list = json::array();
  CHECK(reason([] { const json document = json::parse("[1,"); }) ==
        "parse error at line 1, column 4: syntax error while parsing value - unexpected end of input; expected '[', "
        "'{', or a literal");
  CHECK(reason([] { kDocument.at("none"); }) == "key 'none' not found");
  CHECK(reason([] { kDocument.at("whole").get<std::string>(); }) == "type must be string, but is number");
  CHECK(reason([] { kDocument.at(0); }) == "expected a list, found object");
  CHECK(reason([] { (void)kDocument[0]; }) == "expected a list, found object");
  CHECK(reason([&] { list.at("none"); }) == "expected an object, found array");
  CHECK(reason([&] { (void)list["none"]; }) == "expected an object, found array");
  CHECK(reason([&] { number.at("none"); }) == "expected a list or an object, found number");
  CHECK(reason([&] { number.at(0); }) == "expected a list or an object, found number");
  CHECK(reason([&] { (void)null["none"]; }) == "expected a list or an object, found null");
  CHECK(reason([&] { (void)null.value("none", 1); }) == "expected an object, found null");
  CHECK(reason([&] { (void)number.get_ref<const json::array_t&>(); }) == "expected another type, found number");
  CHECK(reason([] { throw std::runtime_error("[json.exception.none] a reason"); }) == "[json.exception.none] a reason");
}

}  // namespace esper::test::json_fields_test
