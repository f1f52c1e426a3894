#include "config/loading/section_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <tuple>

#include "config/field.h"
#include "config/fields/field_rows.h"

namespace esper::test::section_reader_test {

using namespace esper;
using namespace esper::config;

namespace {

struct Inner {
  std::int64_t depth = 1;
  static constexpr auto fields() { return std::tuple{field("depth", &Inner::depth, "of it", between(0, 9))}; }
};

struct Outer {
  std::string title = "none";
  Inner inner;
  static constexpr auto fields() {
    return std::tuple{field("title", &Outer::title, "a text"), field("inner", &Outer::inner, "a section")};
  }
};

struct Reading {
  Outer outer;
  std::vector<base::Problem> problems;
  std::vector<FieldRow> rows() {
    std::vector<FieldRow> all;
    append_rows(outer, "", all);
    return all;
  }
  SectionReader reader{rows(), problems};

  void read(const std::string& text) {
    const auto document = parse_yaml(text, "f.yaml");
    problems = document.problems;
    reader.read(document.root);
  }
};

}  // namespace

TEST_CASE("fields, sections and own keys of a document are read with their places") {
  Reading it;
  std::string own;
  it.reader.add_key("own", [&](const YamlNode& value) { own = value.text; });
  it.read("own: mine\ninner:\n  depth: 4\n");
  CHECK(it.problems.empty());
  CHECK(own == "mine");
  CHECK(it.outer.inner.depth == 4);
  CHECK(it.outer.title == "none");
  CHECK(it.reader.is_given("inner.depth"));
  CHECK(!it.reader.is_given("title"));
  CHECK(it.reader.place_of("inner.depth") == base::Place{"f.yaml", 3, 10});
  CHECK(it.reader.place_of("title") == base::Place{"f.yaml", 0, 0});
}

TEST_CASE("unknown keys come with the nearest one and all that are known") {
  Reading it;
  it.reader.add_key("own", [](const YamlNode&) {});
  it.read("titel: a\ninner: {width: 3}\ninner.depth: 2\n");
  REQUIRE(it.problems.size() == 3);
  CHECK(to_string(it.problems[0]) ==
        "f.yaml:1:1: titel: unknown key; did you mean title? Known here: title, inner, own");
  CHECK(to_string(it.problems[1]) == "f.yaml:2:9: inner.width: unknown key; known here: depth");
  CHECK(it.problems[2].text.starts_with("unknown key"));
}

TEST_CASE("a value beyond its limits and a section that is none are problems") {
  Reading it;
  it.read("inner: {depth: 10}\n");
  REQUIRE(it.problems.size() == 1);
  CHECK(it.problems[0].text == "must be 0 to 9, but is 10");
  it.read("inner: 7\n");
  REQUIRE(it.problems.size() == 1);
  CHECK(it.problems[0].path == "inner");
}

TEST_CASE("what is no document at all is one problem") {
  Reading it;
  it.read("title: [\n");
  CHECK(it.problems.size() == 1);
}

}  // namespace esper::test::section_reader_test
