#include "http/target.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::target_test {

using namespace esper::http;

TEST_CASE("path and query are taken apart and decoded") {
  const auto target = parse_target("/runs/a%2Fb?x=1&y=%C3%BC+z&flag&&e=").value();
  CHECK(target.path == "/runs/a/b");
  CHECK(target.query == std::map<std::string, std::string>{{"x", "1"}, {"y", "\u00fc z"}, {"flag", ""}, {"e", ""}});
  CHECK(parse_target("/a+b").value().path == "/a+b");
  CHECK(parse_target("/?a=b=c").value().query.at("a") == "b=c");
  CHECK(parse_target("/?q=a%0Ab").value().query.at("q") == "a\nb");
}

TEST_CASE("targets that could mean two things are refused") {
  for (const auto* text : {"", "x", "*", "http://a/", "/%", "/%4", "/%4g", "/%00", "/%0a", "/%7f", "/%c2%80", "/%ff",
                           "/%c0%af", "/?a=%", "/?%zz=1", "/?a=%00", "/?a=%fe", "/?a=1&a=2"}) {
    INFO(text);
    CHECK(!parse_target(text));
  }
}

TEST_CASE("an encoded part is decoded to itself") {
  std::string all;
  for (int c = 1; c < 128; ++c) all += static_cast<char>(c);
  all += "\u00fc\u20ac";
  CHECK(parse_target("/?a=" + percent_encoded(all)).value().query.at("a") == all);
  CHECK(percent_encoded("a b/\u00fc") == "a%20b%2F%C3%BC");
}

}  // namespace esper::test::target_test
