#include "data/text_splits.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text/printable.h"
#include "data/adopt.h"
#include "data/files/input_error.h"
#include "data/files/memory_need.h"
#include "data/order/selection.h"
#include "data/readers/text_reader.h"
#include "data/windows.h"

namespace esper::data {
namespace {

using config::DataConfig;

// Tokens, and where windows begin: all of them, and those that are used.
std::int64_t token_bytes(std::size_t characters, const DataConfig& config) {
  const auto tokens = static_cast<std::int64_t>(characters);
  return (tokens + 2 * (tokens / config.context)) * std::int64_t{sizeof(std::int64_t)};
}

torch::Tensor tokens_of(std::u32string_view text, const std::u32string& vocabulary) {
  std::vector<std::int64_t> tokens;
  tokens.reserve(text.size());
  for (const auto character : text) {
    tokens.push_back(std::lower_bound(vocabulary.begin(), vocabulary.end(), character) - vocabulary.begin());
  }
  const auto count = static_cast<std::int64_t>(tokens.size());
  return adopt(std::move(tokens), {count});
}

// Windows of `context` characters side by side; each needs one character more as the last target.
Dataset to_windows(std::u32string_view text, const std::u32string& vocabulary, const DataConfig& config,
                   const std::string& file) {
  Dataset set;
  set.windows = window_starts(static_cast<std::int64_t>(text.size()), config, file, "characters");
  set.inputs = tokens_of(text, vocabulary);
  set.shape = leyline::tokens_shape(config.context, static_cast<std::int64_t>(vocabulary.size()));
  for (const auto character : vocabulary) set.class_names.push_back(to_utf8(character));
  return set;
}

// Without the characters that the network has no token for.
std::u32string known_characters(std::u32string text, const std::u32string& vocabulary, const std::string& file,
                                BadSamples& bad) {
  std::size_t number = 0;
  std::erase_if(text, [&](char32_t character) {
    ++number;
    if (std::binary_search(vocabulary.begin(), vocabulary.end(), character)) return false;
    bad.report(file, fmt::format("character {}", number),
               fmt::format("{} does not occur in the training data", base::in_quotes(to_utf8(character))));
    return true;
  });
  return text;
}

Dataset read_test_text(const DataConfig& config, const std::u32string& vocabulary, const ReadOptions& options,
                       BadSamples& bad) {
  const auto text = known_characters(read_text(config.test_path, options, bad), vocabulary, config.test_path, bad);
  require_memory(config.test_path, "its tokens", token_bytes(text.size(), config), options);
  return to_windows(text, vocabulary, config, config.test_path);
}

}  // namespace

Splits split_text(const DataConfig& config, TestPart test, const ReadOptions& options) {
  if (!config.shape.empty()) fail_config("shape", "does not apply to text; data.context sets the length of a sample");
  BadSamples bad(config.bad_sample);
  const auto text = read_text(config.path, options, bad);
  const bool own = !config.validation_path.empty();
  const auto more = own ? read_text(config.validation_path, options, bad) : std::u32string();
  const auto vocabulary = vocabulary_of({text, more});
  require_memory(config.path, "its tokens", token_bytes(text.size() + more.size(), config), options);
  const SplitFractions fractions{own ? 0 : config.validation_fraction, config.test_fraction};
  const auto count = static_cast<std::int64_t>(text.size());
  require_splittable(config.path, count, fractions);
  const auto counts = split_counts(count, fractions);
  const auto part = [&text](std::int64_t begin, std::int64_t length) {
    return std::u32string_view(text).substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(length));
  };
  const std::u32string_view validation = own ? more : part(counts.train, counts.validation);
  Splits splits;
  splits.train = to_windows(part(0, counts.train), vocabulary, config, config.path);
  splits.validation = to_windows(validation, vocabulary, config, own ? config.validation_path : config.path);
  if (test == TestPart::kRead && !config.test_path.empty()) {
    splits.test = read_test_text(config, vocabulary, options, bad);
  } else if (test == TestPart::kRead && counts.test > 0) {
    splits.test = to_windows(part(count - counts.test, counts.test), vocabulary, config, config.path);
  }
  splits.skipped = bad.skipped();
  splits.first_skipped = bad.first();
  return splits;
}

Dataset load_other_text(const DataConfig& config, const std::vector<std::string>& class_names,
                        const ReadOptions& options) {
  std::u32string vocabulary;
  for (const auto& name : class_names) vocabulary += characters_of(name).value_or(U"");
  BadSamples bad(config.bad_sample);
  return read_test_text(config, vocabulary, options, bad);
}

}  // namespace esper::data
