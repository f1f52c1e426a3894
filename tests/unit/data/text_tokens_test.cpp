#include "data/text_tokens.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "test_files.h"

namespace esper::test::text_tokens_test {

using Catch::Matchers::ContainsSubstring;
using data::TextTokens;
using data::test::error_of;

namespace {

data::Preprocessing of_characters() {
  data::Preprocessing it;
  it.task = config::Task::kLanguage;
  it.kind = config::DataKind::kText;
  it.class_names = {"\n", "a", "b", "\xc3\xa4"};
  it.shape = leyline::tokens_shape(8, 4);
  return it;
}

data::Preprocessing of_numbers() {
  data::Preprocessing it = of_characters();
  it.kind = config::DataKind::kTokens;
  it.class_names.clear();
  return it;
}

}  // namespace

TEST_CASE("characters are the tokens that they were in training") {
  const auto like = of_characters();
  const TextTokens tokens(like);
  CHECK(tokens.of_text("b\xc3\xa4\na", "the prompt") == std::vector<std::int64_t>{2, 3, 0, 1});
  CHECK(tokens.text_of({2, 3, 0, 1}) == "b\xc3\xa4\na");
  CHECK_THAT(error_of([&] { tokens.of_text("abc", "the prompt"); }).what(),
             ContainsSubstring("character 3, \"c\", does not occur"));
  CHECK_THAT(error_of([&] { tokens.of_text("a\xff", "the prompt"); }).what(),
             ContainsSubstring("byte 1 is not valid UTF-8"));
  CHECK(error_of([&] { tokens.of_text("", "the prompt"); }).code() == base::ExitCode::kData);
}

TEST_CASE("tokens without characters are numbers") {
  const auto like = of_numbers();
  const TextTokens tokens(like);
  CHECK(tokens.of_text(" 3 0\n1 ", "the prompt") == std::vector<std::int64_t>{3, 0, 1});
  CHECK(tokens.text_of({3, 0, 1}) == "3 0 1");
  for (const auto* word : {"4", "-1", "x", "1.5", "99999999999999999999"}) {
    INFO(word);
    CHECK_THAT(error_of([&] { tokens.of_text(word, "the prompt"); }).what(),
               ContainsSubstring("is not a token") && ContainsSubstring("from 0 to 3"));
  }
  auto named = of_numbers();
  named.class_names = {"the", " cat", " sat", "."};
  CHECK(TextTokens(named).text_of({0, 1, 2, 3}) == "the cat sat.");
}

}  // namespace esper::test::text_tokens_test
