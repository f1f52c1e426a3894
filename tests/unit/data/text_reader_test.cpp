#include "data/readers/text_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/data/test_files.h"

namespace esper::data::test::text_reader_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using config::BadSample;

std::u32string read(const std::string& text, BadSamples& bad) {
  const TempFolder folder;
  write_file(folder / "a.txt", text);
  return read_text(folder / "a.txt", {}, bad);
}

TEST_CASE("text: characters are code points, the vocabulary is sorted") {
  BadSamples bad(BadSample::kFail);
  const auto text = read("b\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ab", bad);
  CHECK(text == U"b\u00e9\u20ac\U0001F600 ab");
  const auto vocabulary = vocabulary_of({text.substr(0, 3), text.substr(3)});
  CHECK(vocabulary == U" ab\u00e9\u20ac\U0001F600");
  std::string back;
  for (const auto c : text) back += to_utf8(c);
  CHECK(back == "b\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 ab");
}

TEST_CASE("text: bytes that are no UTF-8 are named, or skipped one by one") {
  for (const std::string wrong :
       {"\xff", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    BadSamples strict(BadSample::kFail), lenient(BadSample::kSkip);
    CHECK_THAT(error_of([&] { read("ab" + wrong, strict); }).what(),
               ContainsSubstring("a.txt: byte 2: is not valid UTF-8"));
    CHECK(read("ab" + wrong, lenient) == U"ab");
    CHECK(lenient.skipped() == static_cast<std::int64_t>(wrong.size()));
  }
}

TEST_CASE("text: UTF-16 is named, and is not skipped byte by byte") {
  BadSamples lenient(BadSample::kSkip);
  for (const std::string mark : {"\xff\xfe", "\xfe\xff"}) {
    CHECK_THAT(error_of([&] { read(mark + std::string("a\0b\0", 4), lenient); }).what(),
               ContainsSubstring("a.txt: is UTF-16 text; save it as UTF-8"));
  }
}

}  // namespace
}  // namespace esper::data::test::text_reader_test
