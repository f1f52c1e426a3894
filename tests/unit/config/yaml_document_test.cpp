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

// "a:" within "a:", so many times, each in a line of its own.
std::string deep_map(int levels) {
  std::string text;
  for (int i = 0; i < levels; ++i) text += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  return text;
}

struct Bad {
  std::string what, text, expected;  // expected: how the first problem starts
};

std::vector<Bad> wrong_bytes() {
  return {
      {"tab indentation", "data:\n\tkind: csv\n", "f:2:1: tab in the indentation"},
      {"tab after blanks", "data:\n  \tkind: csv\n", "f:2:3: tab in the indentation"},
      {"tab at the start", "\tname: a\n", "f:1:1: tab in the indentation"},
      {"tab in an empty line", "name: a\n\t\nseed: 1\n", "f:2:1: tab in the indentation"},
      {"tab within a list", "a: [1,\n\t2]\n", "f:2:1: tab in the indentation"},
      {"tab within a block of text", "a: |\n  b\n  \tc\n", "f:3:3: tab in the indentation"},
      {"tab after CRLF", "data:\r\n\tkind: csv\r\n", "f:2:1: tab in the indentation"},
      {"byte order mark", "\xEF\xBB\xBFname: a\n", "f:1:1: the file starts with a byte order mark"},
      {"byte order mark, cut short", "\xEF\xBBname: a\n", "f:1:1: not UTF-8"},
      {"UTF-16 little endian with mark", "\xFF\xFEn\0a\0"s, "f:1:1: the file is UTF-16"},
      {"UTF-16 big endian with mark", "\xFE\xFF\0n\0a"s, "f:1:1: the file is UTF-16"},
      {"UTF-16 little endian", "n\0a\0m\0e\0"s, "f:1:1: the file is UTF-16"},
      {"UTF-16 big endian", "\0n\0a\0m\0e"s, "f:1:1: the file is UTF-16"},
      {"UTF-16 after a line of UTF-8", "name: a\ns\0e\0e\0d\0"s, "f:2:2: NUL byte"},
      {"UTF-32 little endian with mark", "\xFF\xFE\0\0n\0\0\0"s, "f:1:1: the file is UTF-16 or UTF-32"},
      {"UTF-32 big endian with mark", "\0\0\xFE\xFF\0\0\0n"s, "f:1:1: "},
      {"UTF-32 little endian", "n\0\0\0a\0\0\0"s, "f:1:1: the file is UTF-16 or UTF-32"},
      {"UTF-32 big endian", "\0\0\0n\0\0\0a"s, "f:1:1: "},
      {"NUL", "name: a\0b\n"s, "f:1:8: NUL byte"},
      {"NUL in a comment", "# a\0b\n"s, "f:1:4: NUL byte"},
      {"NUL at the end", "name: a\n\0"s, "f:2:1: NUL byte"},
      {"bell", "name: a\x07\n", "f:1:8: control character"},
      {"delete", "name: a\x7F\n", "f:1:8: control character"},
      {"colour of a terminal", "name: \x1B[31m\n", "f:1:7: control character"},
      {"form feed between lines", "name: a\n\x0Cseed: 1\n", "f:2:1: control character"},
      {"Latin-1", "name: caf\xE9\n", "f:1:10: not UTF-8"},
      {"Latin-1 in a key", "caf\xE9: 1\n", "f:1:4: not UTF-8"},
      {"Latin-1 in a comment", "a: 1 # caf\xE9\n", "f:1:11: not UTF-8"},
      {"overlong UTF-8", "name: \xC0\xAF\n", "f:1:7: not UTF-8"},
      {"overlong, three bytes", "name: \xE0\x9F\xBF\n", "f:1:7: not UTF-8"},
      {"overlong, four bytes", "name: \xF0\x8F\xBF\xBF\n", "f:1:7: not UTF-8"},
      {"surrogate", "name: \xED\xA0\x80\n", "f:1:7: not UTF-8"},
      {"last surrogate", "name: \xED\xBF\xBF\n", "f:1:7: not UTF-8"},
      {"beyond Unicode", "name: \xF4\x90\x80\x80\n", "f:1:7: not UTF-8"},
      {"far beyond Unicode", "name: \xF5\x80\x80\x80\n", "f:1:7: not UTF-8"},
      {"byte that UTF-8 does not have", "name: \xFF\n", "f:1:7: not UTF-8"},
      {"second half alone, after two bytes", "name: \xC3\xA9\xA9\n", "f:1:8: not UTF-8"},
      {"cut sequence", "name: \xE2\x82", "f:1:7: not UTF-8"},
      {"sequence cut by the line's end", "name: \xF0\x9F\x98\nseed: 1\n", "f:1:7: not UTF-8"},
      {"only garbage", repeated("\x80", 100), "f:1:1: not UTF-8"},
      {"lone carriage return", "name: a\rseed: 1\n", "f:1:8: carriage return"},
      {"two carriage returns", "name: a\r\r\n", "f:1:8: carriage return"},
      {"carriage return after the line feed", "name: a\n\rseed: 1\n", "f:2:1: carriage return"},
  };
}

std::vector<Bad> wrong_keys() {
  return {
      {"duplicate key", "seed: 1\nname: a\nseed: 2\n", "f:3:1: duplicate key \"seed\"; it is given in line 1"},
      {"duplicate key, CRLF", "seed: 1\r\nname: a\r\nseed: 2\r\n",
       "f:3:1: duplicate key \"seed\"; it is given in line 1"},
      {"duplicate nested key", "a:\n  b: 1\n  b: 2\n", "f:3:3: duplicate key"},
      {"duplicate key below others", "a:\n  b:\n    c: 1\n    d: 1\n    c: 2\n",
       "f:5:5: duplicate key \"c\"; it is given in line 3"},
      {"duplicate key in flow", "a: {b: 1, b: 2}\n", "f:1:11: duplicate key"},
      {"duplicate key in flow, lines below", "a: {b: 1,\n  c: 2,\n  b: 3}\n",
       "f:3:3: duplicate key \"b\"; it is given in line 1"},
      {"duplicate key in a list", "a:\n  - b: 1\n    b: 2\n", "f:3:5: duplicate key"},
      {"duplicate key, quoted", "a: 1\n\"a\": 2\n", "f:2:1: duplicate key"},
      {"duplicate key, with an escape", "\"n\\x61me\": 1\nname: 2\n", "f:2:1: duplicate key \"name\""},
      {"duplicate key, after a question mark", "a: 1\n? a\n: 2\n", "f:2:3: duplicate key \"a\""},
      {"duplicate key, by an alias", "a: &x b\n*x : 1\nb: 2\n", "f:3:1: duplicate key \"b\"; it is given in line 2"},
      {"duplicate empty key", "\"\": 1\n'': 2\n", "f:2:1: duplicate key \"\""},
      {"duplicate key without values", "a:\na:\n", "f:2:1: duplicate key"},
      {"merge key", "base: &b {a: 1}\nx:\n  <<: *b\n", "f:3:3: merge keys"},
      {"merge key in flow, of two", "b: &b {a: 1}\nx: {<<: [*b, *b]}\n", "f:2:5: merge keys"},
      {"merge key, quoted", "a:\n  \"<<\": 1\n", "f:2:3: merge keys"},
      {"merge key of nothing", "a:\n  <<:\n", "f:2:3: merge keys"},
      {"list as key", "? [a, b]\n: 1\n", "f:1:3: expected a key, found a list or a map"},
      {"list as key in flow", "a: {[b]: 1}\n", "f:1:5: expected a key, found a list or a map"},
      {"map as key", "a:\n  {b: 1}: 2\n", "f:2:3: expected a key, found a list or a map"},
      {"map of a line as key", "? a: 1\n: 2\n", "f:1:3: expected a key, found a list or a map"},
      {"template", "a: {{ b }}\n", "f:1:5: expected a key, found a list or a map"},
      {"list as key, by an alias", "a: &x [b]\n*x : 1\n", "f:2:1: a key must be plain text"},
      {"empty key", ": 1\n", "f:1:1: a key must be plain text"},
      {"empty key in flow", "a: {: 1}\n", "f:1:5: a key must be plain text"},
      {"two commas in flow", "a: {b: 1,, c: 2}\n", "f:1:10: a key must be plain text"},
      {"null as key", "~: 1\n", "f:1:1: a key must be plain text"},
      {"key over two lines", "\"a\nb\": 1\n", "f:2:3: not YAML"},
      {"very long key", std::string(1'025, 'a') + ": 1\n", "f:1:1026: not YAML"},
  };
}

std::vector<Bad> wrong_tags_and_anchors() {
  return {
      {"tag", "a: !!int 3\n", "f:1:4: tags are not accepted"},
      {"own tag", "a: !thing {b: 1}\n", "f:1:4: tags are not accepted; remove \"!thing\""},
      {"binary tag", "a: !!binary aGVsbG8=\n", "f:1:4: tags"},
      {"tag of an object", "a: !!python/object/apply:os.system [ls]\n", "f:1:4: tags"},
      {"tag of a key", "!!str a: 1\n", "f:1:1: tags"},
      {"tag of an item", "a:\n  - !!int 3\n", "f:2:5: tags"},
      {"tag of the document", "!!map\na: 1\n", "f:1:1: tags"},
      {"tag in full", "a: !<tag:yaml.org,2002:str> b\n", "f:1:4: tags"},
      {"tag without a name", "a: ! x\n", "f:1:4: tags are not accepted; remove \"!\""},
      {"empty tag", "a: !<> x\n", "f:1:4: tags are not accepted; remove \"!\""},
      {"tag without a name, of a list", "a: ! [1]\n", "f:1:4: tags are not accepted; remove \"!\""},
      {"tag without an end", "a: !<b c\n", "f:1:7: not YAML"},
      {"two tags", "a: !b !c d\n", "f:1:7: not YAML"},
      {"alias inside itself", "a: &x [1, *x]\n", "f:1:11: an alias refers to a value that contains it"},
      {"alias inside itself, lines below", "a: &x\n  b:\n    c: *x\n",
       "f:3:8: an alias refers to a value that contains it"},
      {"alias of the whole document", "&x\na: *x\n", "f:2:4: an alias refers to a value that contains it"},
      {"unknown alias", "a: *nobody\n", "f:1:4: not YAML"},
      {"unknown alias in a list", "a: [1, *nobody]\n", "f:1:8: not YAML"},
      {"alias before its anchor", "a: *x\nb: &x 1\n", "f:1:4: not YAML"},
      {"pattern of files", "a: *.csv\n", "f:1:4: not YAML"},
      {"alias without a name", "a: * b\n", "f:1:5: not YAML"},
      {"text after an alias", "a: &x 1\nb: *x y\n", "f:2:7: not YAML"},
      {"anchor without a name", "a: [1, & ]\n", "f:1:9: not YAML"},
      {"bracket in an anchor", "a: &x[b c\n", "f:1:6: not YAML"},
      {"two anchors", "a: &x &y b\n", "f:1:7: not YAML"},
      {"anchor of an alias", "a: &x b\nc: &y *x\n", "f:2:7: not YAML"},
  };
}

std::vector<Bad> wrong_texts() {
  return {
      {"open quote", "a: \"b\n", "f:1:4: the quote is not closed in its line"},
      {"open single quote", "\xC3\xA9: 'b''\n", "f:1:"},
      {"open quote in a list", "a:\n  - 'b\n  - c\n", "f:2:5: the quote is not closed"},
      {"open quote as key", "\"b: 1\n", "f:1:1: the quote"},
      {"open quote as key in flow", "a: {\"b: 1}\n", "f:1:5: the quote is not closed"},
      {"open quote, CRLF", "a: 1\r\nb: \"c\r\n", "f:2:4: the quote is not closed"},
      {"quote that ends as another", "a: \"b'\n", "f:1:4: the quote is not closed"},
      {"quote over two lines", "a: \"b\nc: d\"\n", "f:1:4: the quote is not closed"},
      {"escaped closing quote", "a: \"b\\\"\n", "f:1:4: the quote is not closed"},
      {"apostrophe in single quotes", "a: 'it's'\n", "f:1:8: not YAML"},
      {"text after a quote", "a: \"b\" c\n", "f:1:8: not YAML"},
      {"no comma between quotes", "a: [\"b\" \"c\"]\n", "f:1:9: not YAML"},
      {"bad escape", "a: \"\\q\"\n", "f:1:"},
      {"path of Windows", "a: \"C:\\data\"\n", "f:1:"},
      {"escape of no hexadecimal digits", "a: \"\\xgg\"\n", "f:1:"},
      {"escape of a surrogate", "a: \"\\ud800\"\n", "f:1:"},
      {"escape beyond Unicode", "a: \"\\U00110000\"\n", "f:1:"},
      {"block of text with a letter in its head", "a: |x\n  b\n", "f:1:5: not YAML"},
      {"block of text indented by 0", "a: |0\n  b\n", "f:1:6: not YAML"},
      {"block of text that starts beside its mark", "a: > b\n", "f:1:6: not YAML"},
      {"block of text, less indented below", "a: |\n    b\n  c\n", "f:3:3: not YAML"},
      {"block of text after a longer blank line", "a: |\n     \n  b\n", "f:3:3: not YAML"},
      {"block of text in flow", "a: {b: |\n  c}\n", "f:1:8: not YAML"},
      {"at sign", "a: @b\n", "f:1:4: not YAML"},
      {"at sign in a key", "a:\n  @b: 1\n", "f:2:3: not YAML"},
      {"backtick", "a: `b`\n", "f:1:4: not YAML"},
      {"percent in a list", "a: [1, %b]\n", "f:1:8: not YAML"},
  };
}

std::vector<Bad> wrong_structure() {
  return {
      {"open bracket", "a: [1, 2\n", "f:2:1: not YAML"},
      {"open bracket before a key", "a:\n  b: [1\nc: 2\n", "f:3:2: not YAML"},
      {"open brace", "a: {b: 1\n", "f:2:1: not YAML"},
      {"open brace of a whole document", "{\"a\": 1\n",
       "f:1:1: expected a key, found a list or a map; is every bracket"},
      {"bracket closed in a comment", "a: [1 # ]\n", "f:2:1: not YAML"},
      {"bracket closed in the next document", "a: [1,\n---\n2]\n", "f:2:1: not YAML"},
      {"bracket closed by a brace", "a: [1, {b: [2}]\n", "f:1:14: not YAML"},
      {"brace closed by a bracket", "a: {b: 1]\n", "f:1:9: not YAML"},
      {"closing bracket", "a: ]\n", "f:1:4: not YAML"},
      {"two closing brackets", "a:\n  b: [1]]\n", "f:2:9: not YAML"},
      {"no comma in a map", "a: {b: 1 c: 2}\n", "f:1:11: not YAML"},
      {"text after a list", "a: [1] 2\n", "f:1:8: not YAML"},
      {"dash in a list in flow", "a: [- 1]\n", "f:1:5: not YAML"},
      {"two values", "a: b: c\n", "f:1:5: not YAML"},
      {"dash after a key", "a: - 1\n", "f:1:4: not YAML"},
      {"question mark after a key", "a: ? b\n", "f:1:4: not YAML"},
      {"bad indentation", "a:\n   b: 1\n  c: 2\n", "f:3:3: not YAML"},
      {"key below a value", "a: 1\n  b: 2\n", "f:2:4: not YAML"},
      {"key below an item", "a:\n  - 1\n  b: 2\n", "f:3:3: not YAML"},
      {"item below a key", "a:\n  b: 1\n  - 2\n", "f:3:3: not YAML"},
      {"items that step back", "a:\n    - 1\n   - 2\n", "f:3:4: not YAML"},
      {"line without a colon", "a: 1\nb\nc: 2\n", "f:3:2: not YAML"},
      {"marks of a merge", "a:\n<<<<<<< HEAD\n  b: 1\n=======\n  b: 2\n", "f:3:4: not YAML"},
      {"version of the future", "%YAML 9.9\n---\na: 1\n", "f:1:1: directives"},
      {"directive between keys", "a: 1\n%b: 2\nc: 3\n", "f:2:1: directives"},
      {"column after a character of three bytes", "a: \"\xE6\x97\xA5\" ]\n", "f:1:8: not YAML"},
      {"open quote after an anchor", "a: &a \"b\nc: 1\nd: 2\n", "f:1:4: the quote is not closed"},
      {"open quote after an anchor and a tab", "a: &a\t\"b\nc: 1\nd: 2\n", "f:1:4: the quote is not closed"},
      {"open quote after an anchor and a comment", "a: &a # d\n  \"b\nc: 1\nd: 2\n", "f:1:4: the quote is not closed"},
      {"open single quote after an anchor", "a: &a 'b\nc: 1\nd: 2\n", "f:1:4: the quote is not closed"},
      {"quote that goes on after an escaped line end", "a: \"b\\\n  c\"\n", "f:1:4: the quote is not closed"},
      {"version twice", "%YAML 1.1\n%YAML 1.1\n---\na: 1\n", "f:1:1: directives"},
      {"version that is none", "%YAML one\n---\na: 1\n", "f:1:1: directives"},
      {"handle of tags that stands for nothing", "%TAG !e!\n---\na: 1\n", "f:1:1: directives"},
      {"two documents", "a: 1\n---\nb: 2\n", "f:3:1: a second document"},
      {"two documents, the first ended", "a: 1\n...\n---\nb: 2\n", "f:4:1: a second document"},
      {"a second document that is no YAML", "a: 1\n---\nb: ]\n", "f:3:4: not YAML"},
  };
}

std::vector<Bad> too_much() {
  return {
      {"deep list", "a: " + repeated("[", 65) + repeated("]", 65), "f:1:67: nested deeper than 64 levels"},
      {"deep map", deep_map(65), "f:65:65: nested deeper than 64 levels"},
      {"deep map in flow", repeated("{a: ", 65) + "1" + repeated("}", 65), "f:1:257: nested deeper than 64 levels"},
      {"very long line", repeated("[", 1'000'000), "f:1:10001: a line of more"},
      {"long line of two bytes each", "a: " + repeated("\xC3\xA9", 10'000) + "\n", "f:1:10001: a line of more"},
      {"levels that aliases add up",
       "a: &a " + repeated("[", 40) + repeated("]", 40) + "\nb: " + repeated("[", 30) + "*a" + repeated("]", 30) + "\n",
       "f:2:34: nested deeper than 64 levels"},
      {"text that aliases multiply",
       "a: &a |\n" + repeated("  " + repeated("x", 9000) + "\n", 40) + "b: [" + repeated("*a, ", 20) + "*a]\n",
       "f:42:45: anchors and aliases repeat more than 4 MiB"},
      {"open lists", repeated("[\n", 100'000), "f:1:1: expected a key"},
      {"very deep list", "a: " + repeated("[\n", 100'000), "f:2:1: expected a key"},
      {"very deep map", repeated("{a:\n ", 50'000), "f:1:1: expected a key"},
      {"very deep block list", repeated("- ", 4'000), "f:1:129: nested deeper"},
      {"very deep question", repeated("? ", 4'000), "f:1:3: expected a key"},
      {"many values", "a: [" + repeated("1,\n", 10'000) + "1]\n", "f:9998:1: more than 10000 values"},
      {"many keys", repeated("a: 1\n", 20'000), "f:2:1: duplicate key"},
      {"many anchors of values", "a: [" + repeated("&x 1,\n", 6'000) + "1]\n", "f:4999:1: more than 10000 values"},
      {"alias bomb", alias_bomb(), "f:4:34: more than 10000 values"},
      {"alias of a long list", "a: &a [" + repeated("1,", 3'000) + "1]\nb: [*a, *a]\n",
       "f:2:9: more than 10000 values"},
      {"many aliases", "a: &a 1\nb: [" + repeated("*a,", 101) + "]\n", "f:2:305: more than 100 aliases"},
      {"too large", "a: " + std::string(YamlLimits::kBytes, 'x') + "\n", "f: larger than 1 MiB"},
      {"anchors", repeated("&a\n", 100'000), "f:2:1: not YAML"},
      {"colons", repeated(":\n", 100'000), "f:1:1: a key must be plain text"},
  };
}

}  // namespace

TEST_CASE("malformed YAML is refused with its place") {
  for (const auto part : {wrong_bytes, wrong_keys, wrong_tags_and_anchors, wrong_texts, wrong_structure, too_much}) {
    for (const Bad& bad : part()) {
      CAPTURE(bad.what);
      const YamlDocument document = parse_yaml(bad.text, "f");
      REQUIRE_FALSE(document.problems.empty());
      CHECK_THAT(to_string(document.problems.front()), StartsWith(bad.expected));
    }
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
