#include "data/text_splits.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/data/test_files.h"

namespace esper::data::test::text_splits_test {
namespace {

using Catch::Matchers::ContainsSubstring;

config::DataConfig config_of(const std::filesystem::path& path) {
  config::DataConfig config;
  config.kind = config::DataKind::kText;
  config.path = path;
  config.context = 10;
  return config;
}

std::string characters_of(const Dataset& set) {
  std::string text;
  for (std::int64_t i = 0; i < set.inputs.size(0); ++i) {
    text += set.class_names.at(static_cast<std::size_t>(set.inputs[i].item<std::int64_t>()));
  }
  return text;
}

std::string letters(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>('a' + i * i % 17);
  return text;
}

TEST_CASE("text: training, validation and test part lie one behind the other") {
  const TempFolder folder;
  const auto text = letters(1000);
  write_file(folder / "a.txt", text);
  auto config = config_of(folder / "a.txt");
  CHECK(characters_of(load_dataset(config).validation) == text.substr(800));
  config.test_fraction = 0.1;
  const auto splits = load_dataset(config, TestPart::kRead);
  CHECK(characters_of(splits.train) == text.substr(0, 700));
  CHECK(characters_of(splits.validation) == text.substr(700, 200));
  REQUIRE(splits.test);
  CHECK(characters_of(*splits.test) == text.substr(900));
  CHECK(!load_dataset(config).test);
}

TEST_CASE("text: a test file is read with the characters of training, and others are bad samples") {
  const TempFolder folder;
  write_file(folder / "a.txt", letters(1000));
  auto config = config_of(folder / "a.txt");
  const auto without = load_dataset(config);
  write_file(folder / "test.txt", letters(30) + "#" + letters(5));
  config.test_path = folder / "test.txt";
  CHECK(load_dataset(config).train.class_names == without.train.class_names);
  const auto error = error_of([&] { load_dataset(config, TestPart::kRead); });
  CHECK(error.code() == base::ExitCode::kData);
  CHECK_THAT(error.what(), ContainsSubstring("test.txt: character 31: \"#\" does not occur in the training data"));
  config.bad_sample = config::BadSample::kSkip;
  const auto splits = load_dataset(config, TestPart::kRead);
  CHECK(splits.skipped == 1);
  CHECK(characters_of(*splits.test) == letters(30) + letters(5));
  CHECK(splits.test->shape == splits.train.shape);
}

}  // namespace
}  // namespace esper::data::test::text_splits_test
