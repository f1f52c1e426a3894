#include "data/text_tokens.h"

#include <fmt/core.h>

#include <sstream>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text/joined.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"

namespace esper::data {
namespace {

[[noreturn]] void fail(const std::string& place, const std::string& text) {
  throw base::Error(base::ExitCode::kData, place + ": " + text);
}

}  // namespace

TextTokens::TextTokens(const Preprocessing& like) : like_(like) {
  if (like.kind != config::DataKind::kText) return;
  for (std::size_t i = 0; i < like.class_names.size(); ++i) {
    characters_.emplace(like.class_names[i], static_cast<std::int64_t>(i));
  }
}

std::vector<std::int64_t> TextTokens::of_text(const std::string& text, const std::string& place) const {
  std::vector<std::int64_t> tokens;
  if (characters_.empty()) {
    std::istringstream words(text);
    for (std::string word; words >> word;) tokens.push_back(of_number(word, place));
  } else {
    for (std::size_t at = 0; at < text.size();) {
      const int length = base::utf8_length(std::string_view(text).substr(at));
      if (length < 0) fail(place, fmt::format("byte {} is not valid UTF-8", at));
      const auto character = text.substr(at, static_cast<std::size_t>(length));
      const auto found = characters_.find(character);
      if (found == characters_.end()) {
        fail(place, fmt::format("character {}, {}, does not occur in the text that the run was trained on",
                                tokens.size() + 1, base::in_quotes(character)));
      }
      tokens.push_back(found->second);
      at += static_cast<std::size_t>(length);
    }
  }
  if (tokens.empty()) fail(place, "is empty; give a text to continue");
  return tokens;
}

std::int64_t TextTokens::of_number(const std::string& word, const std::string& place) const {
  const auto token = base::parse_number<std::int64_t>(word);
  if (token && *token >= 0 && *token < like_.shape.num_classes) return *token;
  fail(place, fmt::format("{} is not a token; the run was trained on tokens, whole numbers from 0 to {}",
                          base::in_quotes(word), like_.shape.num_classes - 1));
}

std::string TextTokens::text_of(const std::vector<std::int64_t>& tokens) const {
  if (like_.class_names.empty()) return base::joined(tokens, " ");
  std::string text;
  for (const auto token : tokens) text += like_.class_names.at(static_cast<std::size_t>(token));
  return text;
}

}  // namespace esper::data
