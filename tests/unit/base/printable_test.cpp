#include "base/text/printable.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "base/text/utf8.h"

namespace esper::test::printable_test {

using namespace esper::base;

TEST_CASE("what can steer a terminal becomes an escape") {
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable(std::string_view("\0\a\b\x7f", 4)) == "\\x00\\x07\\x08\\x7f");
  CHECK(printable("\xC2\x9B\x32J") == "\\u009b2J");  // CSI of C1
  CHECK(printable("\xE2\x80\xAE") == "\\u202e");     // right-to-left override
  CHECK(printable("\xE2\x81\xA6\xD8\x9C") == "\\u2066\\u061c");
  CHECK(printable("\xE2\x80\xA8") == "\\u2028");
  CHECK(printable("a\rb") == "a\\rb");
}

TEST_CASE("bytes that are no UTF-8 become escapes, one for each") {
  CHECK(printable("a\x9b\x32J") == "a\\x9b2J");
  CHECK(printable("\xE2\x80") == "\\xe2\\x80");
  CHECK(printable("\xC0\x9B") == "\\xc0\\x9b");  // an overlong ESC
  CHECK(utf8_text("a\x9b\x32J\xE2\x80") == "a\\x9b2J\\xe2\\x80");
}

TEST_CASE("in a text that is to be UTF-8 characters stay, whatever they do") {
  for (const char* text : {"", "a\x1b[2J\n\t\r", "\xC2\x9B", "h\xC3\xA9llo \\x1b"}) CHECK(utf8_text(text) == text);
}

TEST_CASE("other text stays as it is") {
  for (const char* text : {"", "runs/a b\\x1b", "h\xC3\xA9llo", "\xE6\x97\xA5\xE6\x9C\xAC", "\xF0\x9F\x98\x80"}) {
    CHECK(printable(text) == text);
    CHECK(printable_line(text) == text);
  }
}

TEST_CASE("newlines and tabs stay in a text and go from a line") {
  CHECK(printable("a\n\tb") == "a\n\tb");
  CHECK(printable_line("a\n\tb\r") == "a\\n\\tb\\r");
}

TEST_CASE("a long text is cut between characters") {
  const std::string letters(60, 'a');
  CHECK(shortened(letters) == letters);
  CHECK(shortened(letters + "b") == letters + "...");
  std::string accents;
  for (int i = 0; i < 60; ++i) accents += "\xC3\xA9";
  CHECK(shortened(accents) == accents);
  CHECK(shortened(accents + "\xC3\xA9") == accents + "...");
  CHECK(shortened(std::string(59, 'a') + "\xE2\x82") == std::string(59, 'a') + "\xE2\x82");  // cut off already
  CHECK(in_quotes("") == "\"\"");
  CHECK(in_quotes(letters + "b") == "\"" + letters + "...\"");
}

TEST_CASE("JSON keeps its value and its layout") {
  const nlohmann::json value = {{"a\xC2\x9b", "\x1b[2J\x7f\xE2\x80\xAE"}, {"n", 1}};
  const auto text = printable_json(value.dump(2));
  CHECK(text.find("\"a\\u009b\"") != std::string::npos);
  CHECK(text.find("\\u001b[2J\\u007f\\u202e") != std::string::npos);
  CHECK(text.find('\n') != std::string::npos);
  CHECK(nlohmann::json::parse(text) == value);
}

TEST_CASE("whatever the bytes, what comes out is printable UTF-8, and stays so") {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 24, ' ');
    for (auto& byte : bytes) byte = static_cast<char>(random());
    const auto line = printable_line(bytes);
    CHECK(printable_line(line) == line);
    for (std::string_view rest = line; !rest.empty();) {
      const int length = utf8_length(rest);
      REQUIRE(length > 0);
      REQUIRE_FALSE(is_steering(rest));
      rest.remove_prefix(static_cast<std::size_t>(length));
    }
  }
}

}  // namespace esper::test::printable_test
