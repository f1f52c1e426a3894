#include "config/yaml/yaml_document.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>

namespace esper::test::yaml_document_test {

using namespace esper;
using namespace esper::base;
using namespace esper::config;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

namespace {

using namespace std::string_literals;

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// Ten anchors, each of which repeats the one before ten times: 10^10 values if expanded.
std::string alias_bomb() {
  std::string text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + repeated("," + before, 9) + "]\n";
  }
  return text;
}

struct Bad {
  std::string what, text, expected;  // expected: how the first problem starts
};

std::vector<Bad> corpus() {
  return {
      {"tab indentation", "data:\n\tkind: csv\n", "f:2:1: tab in the indentation"},
      {"tab after blanks", "data:\n  \tkind: csv\n", "f:2:3: tab in the indentation"},
      {"byte order mark", "\xEF\xBB\xBFname: a\n", "f:1:1: the file starts with a byte order mark"},
      {"UTF-16 little endian with mark", "\xFF\xFEn\0a\0"s, "f:1:1: the file is UTF-16"},
      {"UTF-16 big endian with mark", "\xFE\xFF\0n\0a"s, "f:1:1: the file is UTF-16"},
      {"UTF-16 little endian", "n\0a\0m\0e\0"s, "f:1:1: the file is UTF-16"},
      {"UTF-16 big endian", "\0n\0a\0m\0e"s, "f:1:1: the file is UTF-16"},
      {"UTF-32", "\0\0\0n\0\0\0a"s, "f:1:"},
      {"NUL", "name: a\0b\n"s, "f:1:8: NUL byte"},
      {"bell", "name: a\x07\n", "f:1:8: control character"},
      {"delete", "name: a\x7F\n", "f:1:8: control character"},
      {"Latin-1", "name: caf\xE9\n", "f:1:10: not UTF-8"},
      {"overlong UTF-8", "name: \xC0\xAF\n", "f:1:7: not UTF-8"},
      {"surrogate", "name: \xED\xA0\x80\n", "f:1:7: not UTF-8"},
      {"beyond Unicode", "name: \xF4\x90\x80\x80\n", "f:1:7: not UTF-8"},
      {"cut sequence", "name: \xE2\x82", "f:1:7: not UTF-8"},
      {"lone carriage return", "name: a\rseed: 1\n", "f:1:8: carriage return"},
      {"duplicate key", "seed: 1\nname: a\nseed: 2\n", "f:3:1: duplicate key \"seed\"; it is given in line 1"},
      {"duplicate nested key", "a:\n  b: 1\n  b: 2\n", "f:3:3: duplicate key"},
      {"duplicate key in flow", "a: {b: 1, b: 2}\n", "f:1:11: duplicate key"},
      {"duplicate key, quoted", "a: 1\n\"a\": 2\n", "f:2:1: duplicate key"},
      {"merge key", "base: &b {a: 1}\nx:\n  <<: *b\n", "f:3:3: merge keys"},
      {"tag", "a: !!int 3\n", "f:1:4: tags are not accepted"},
      {"own tag", "a: !thing {b: 1}\n", "f:1:"},
      {"binary tag", "a: !!binary aGVsbG8=\n", "f:1:4: tags"},
      {"list as key", "? [a, b]\n: 1\n", "f:1:3: expected a key, found a list or a map"},
      {"empty key", ": 1\n", "f:1:1: a key must be plain text"},
      {"alias inside itself", "a: &x [1, *x]\n", "f:1:"},
      {"unknown alias", "a: *nobody\n", "f:1:"},
      {"two documents", "a: 1\n---\nb: 2\n", "f:3:1: a second document"},
      {"open bracket", "a: [1, 2\n", "f:2:1: not YAML"},
      {"open brace", "a: {b: 1\n", "f:"},
      {"open quote", "a: \"b\n", "f:1:4: the quote is not closed in its line"},
      {"open single quote", "\xC3\xA9: 'b''\n", "f:1:"},
      {"quote over two lines", "a: \"b\nc: d\"\n", "f:1:4: the quote is not closed"},
      {"escaped closing quote", "a: \"b\\\"\n", "f:1:4: the quote is not closed"},
      {"open quote as key", "\"b: 1\n", "f:1:1: the quote"},
      {"bad escape", "a: \"\\q\"\n", "f:1:"},
      {"closing bracket", "a: ]\n", "f:1:4: not YAML"},
      {"two values", "a: b: c\n", "f:1:5: not YAML"},
      {"bad indentation", "a:\n   b: 1\n  c: 2\n", "f:3:"},
      {"percent", "%YAML 9.9\n---\na: 1\n", "f:"},
      {"at sign", "a: @b\n", "f:1:4: not YAML"},
      {"backtick", "a: `b`\n", "f:1:4: not YAML"},
      {"deep list", "a: " + repeated("[", 65) + repeated("]", 65), "f:1:67: nested deeper than 64 levels"},
      {"very long line", repeated("[", 1'000'000), "f:1:10001: a line of more"},
      {"open lists", repeated("[\n", 500'000), "f:"},
      {"very deep list", "a: " + repeated("[\n", 500'000), "f:"},
      {"very deep map", repeated("{a:\n ", 200'000), "f:"},
      {"very deep block list", repeated("- ", 4'000), "f:1:"},
      {"very deep question", repeated("? ", 4'000), "f:1:"},
      {"many values", "a: [" + repeated("1,\n", 10'000) + "1]\n", "f:9998:1: more than 10000 values"},
      {"many keys", repeated("a: 1\n", 20'000), "f:"},
      {"alias bomb", alias_bomb(), "f:"},
      {"many aliases", "a: &a 1\nb: [" + repeated("*a,", 101) + "]\n", "f:2:305: more than 100 aliases"},
      {"too large", "a: " + std::string(YamlLimits::kBytes, 'x') + "\n", "f: larger than 1 MiB"},
      {"only garbage", repeated("\x80", 100), "f:1:1: not UTF-8"},
      {"anchors", repeated("&a\n", 100'000), "f:"},
      {"colons", repeated(":\n", 100'000), "f:"},
  };
}

}  // namespace

TEST_CASE("malformed YAML is refused with its place") {
  for (const Bad& bad : corpus()) {
    CAPTURE(bad.what);
    const YamlDocument document = parse_yaml(bad.text, "f");
    REQUIRE_FALSE(document.problems.empty());
    CHECK_THAT(to_string(document.problems.front()), StartsWith(bad.expected));
  }
}

TEST_CASE("good YAML gives a tree with places") {
  const YamlDocument document =
      parse_yaml("# comment\r\nname: \"yes\"\r\nlist: [1, two]\r\ndeep:\r\n  none: ~\r\n", "f");
  REQUIRE(document.problems.empty());
  const YamlNode& root = document.root;
  REQUIRE(root.kind == YamlNode::Kind::kMap);
  REQUIRE(root.entries.size() == 3);
  CHECK(root.entries[0].key == "name");
  CHECK(root.entries[0].place == Place{"f", 2, 1});
  CHECK(root.entries[0].value.text == "yes");
  CHECK(root.entries[0].value.style == YamlNode::Style::kQuoted);
  CHECK(root.entries[0].value.place == Place{"f", 2, 7});
  CHECK(root.entries[1].value.items.at(1).text == "two");
  CHECK(root.entries[1].value.items.at(1).style == YamlNode::Style::kPlain);
  CHECK(root.entries[1].value.items.at(1).place == Place{"f", 3, 11});
  CHECK(root.entries[2].value.entries.at(0).value.kind == YamlNode::Kind::kNull);
}

TEST_CASE("aliases within the limits repeat what they name") {
  const YamlDocument document = parse_yaml("a: &x [1, 2]\nb: *x\n", "f");
  REQUIRE(document.problems.empty());
  REQUIRE(document.root.entries.size() == 2);
  CHECK(document.root.entries[1].value.items.size() == 2);
}

TEST_CASE("all problems that do not end the reading are reported") {
  const YamlDocument document = parse_yaml("a: 1\na: 2\nb: !!str 3\nc:\n  <<: 1\n", "f");
  REQUIRE(document.problems.size() == 3);
  CHECK(document.problems[0].place.line == 2);
  CHECK(document.problems[1].place.line == 3);
  CHECK(document.problems[2].place.line == 5);
}

TEST_CASE("files that cannot be read are problems") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "esper_yaml_document_test";
  std::filesystem::create_directories(folder);
  SECTION("missing") {
    const YamlDocument document = read_yaml((folder / "missing.yaml").string());
    REQUIRE(document.problems.size() == 1);
    CHECK_THAT(document.problems[0].text, ContainsSubstring("No such file"));
  }
  SECTION("a folder") { CHECK(read_yaml(folder.string()).problems.size() == 1); }
  SECTION("a gigabyte, of which little is read") {
    const std::filesystem::path file = folder / "giant.yaml";
    std::ofstream(file).put('a');
    std::filesystem::resize_file(file, 1 << 30);
    const YamlDocument document = read_yaml(file.string());
    REQUIRE(document.problems.size() == 1);
    CHECK_THAT(document.problems[0].text, StartsWith("larger than 1 MiB"));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace esper::test::yaml_document_test
