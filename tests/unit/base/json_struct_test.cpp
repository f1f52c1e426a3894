#include "base/text/json_struct.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

namespace esper::base::json_struct_test {

enum class Colour { kRed, kGreen };
constexpr auto names(Colour) { return std::array{std::pair{Colour::kRed, "red"}, std::pair{Colour::kGreen, "green"}}; }

struct Point {
  double x = 0;
  float y = 1;
};
constexpr auto json_members(const Point*) {
  return std::tuple{json_member("x", &Point::x), json_member("y", &Point::y)};
}

struct Shape {
  std::string name;
  Colour colour = Colour::kRed;
  std::uint64_t count = 0;
  int change = 0;
  bool filled = false;
  std::vector<Point> corners;
  std::map<std::string, double> figures;
  std::optional<Point> centre;
};
constexpr auto json_members(const Shape*) {
  return std::tuple{json_member("name", &Shape::name),       json_member("colour", &Shape::colour),
                    json_member("count", &Shape::count),     json_member("change", &Shape::change),
                    json_member("filled", &Shape::filled),   json_member("corners", &Shape::corners),
                    json_member("figures", &Shape::figures), json_member("centre", &Shape::centre)};
}

namespace {

Shape read_text(const std::string& text) {
  const auto document = parse_json(text, 1000);
  REQUIRE(document);
  auto shape = from_json<Shape>(*document);
  REQUIRE(shape);
  return *shape;
}

std::string refusal_of(const std::string& text) {
  const auto document = parse_json(text, 1000);
  REQUIRE(document);
  return from_json<Shape>(*document).error_or("");
}

}  // namespace

TEST_CASE("a struct comes back from its text, to the last bit") {
  Shape shape;
  shape.name = "a \"b\"\n";
  shape.colour = Colour::kGreen;
  shape.count = std::numeric_limits<std::uint64_t>::max();
  shape.change = std::numeric_limits<int>::min();
  shape.filled = true;
  shape.corners = {{0.1, 0.1F}, {-0.0, std::nextafter(1.0F, 2.0F)}, {5e-324, HUGE_VALF}, {std::nan(""), -HUGE_VALF}};
  shape.figures = {{"loss", 1.0 / 3}};
  const std::string text = json_line(to_json(shape));
  const Shape again = read_text(text);
  CHECK(json_line(to_json(again)) == text);
  CHECK(again.count == shape.count);
  CHECK(again.change == shape.change);
  CHECK(again.corners[0].x == 0.1);
  CHECK(again.corners[0].y == 0.1F);
  CHECK(std::signbit(again.corners[1].x));
  CHECK(again.corners[1].y == std::nextafter(1.0F, 2.0F));
  CHECK(again.corners[2].x == 5e-324);
  CHECK(again.corners[2].y == HUGE_VALF);
  CHECK(std::isnan(again.corners[3].x));
  CHECK(again.corners[3].y == -HUGE_VALF);
  CHECK_FALSE(again.centre);
  CHECK(to_json(shape)["centre"].is_null());
}

TEST_CASE("what is missing keeps its default; a whole number is a number") {
  const Shape shape = read_text(R"({"corners":[{"x":2}],"centre":{}})");
  CHECK(shape.colour == Colour::kRed);
  CHECK(shape.corners.at(0).x == 2);
  CHECK(shape.corners.at(0).y == 1);
  CHECK(shape.centre);
}

TEST_CASE("what is refused is named with its place") {
  CHECK(refusal_of("[]") == "expected an object, found array");
  CHECK(refusal_of(R"({"colour":"blue"})") == "colour: expected one of red, green, found \"blue\"");
  CHECK(refusal_of(R"({"corners":[{"x":1},{"x":"left"}]})") == "corners[1].x: expected a number, found \"left\"");
  CHECK(refusal_of(R"({"corners":{}})") == "corners: expected a list, found object");
  CHECK(refusal_of(R"({"count":-1})") == "count: expected a whole number in range, found -1");
  CHECK(refusal_of(R"({"change":3000000000})") == "change: expected a whole number in range, found 3000000000");
  CHECK(refusal_of(R"({"change":1.5})") == "change: expected a whole number in range, found 1.5");
  CHECK(refusal_of(R"({"filled":1})") == "filled: expected true or false, found 1");
  CHECK(refusal_of(R"({"figures":{"loss":null}})") == "figures.loss: expected a number, found null");
  CHECK(refusal_of(R"({"centre":{"z":1}})") == "centre: \"z\" is not one of its fields; did you mean \"x\"?");
  CHECK(refusal_of(R"({"colors":1})") == "\"colors\" is not one of its fields; did you mean \"colour\"?");
}

TEST_CASE("texts are read within limits") {
  CHECK_FALSE(parse_json("[1,2,3]", 6));
  CHECK(parse_json("[1,2,3]", 7));
  CHECK_FALSE(parse_json(R"({"a":1,"a":2})", 100));
  CHECK(parse_json("{\"a\":", 100).error_or("").starts_with("not valid JSON: parse error at line 1, column 6: "));
  CHECK_FALSE(parse_json(std::string(200, '['), 1000));
  CHECK_FALSE(parse_json(std::string(40, '[') + std::string(40, ']'), 1000));
  Shape many;
  many.corners.resize(kMostJsonItems + 1);
  CHECK_FALSE(from_json<Shape>(to_json(many)));
  many.corners.clear();
  many.name.assign(kMostJsonText + 1, 'a');
  CHECK_FALSE(from_json<Shape>(to_json(many)));
}

}  // namespace esper::base::json_struct_test
