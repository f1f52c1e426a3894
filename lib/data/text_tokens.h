#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/preprocessing.h"

namespace esper::data {

// Between a text and the tokens of the training that `like` is of: its characters, or, where the data were tokens
// already, their numbers in decimal, separated by blanks. Immutable; any thread.
class TextTokens {
 public:
  explicit TextTokens(const Preprocessing& like);

  // Throws Error{kData} naming the first character or word that is no token, and for an empty text. `place`: what the
  // message calls the text.
  std::vector<std::int64_t> of_text(const std::string& text, const std::string& place) const;
  // Numbers only where tokens have no texts.
  std::string text_of(const std::vector<std::int64_t>& tokens) const;

 private:
  std::int64_t of_number(const std::string& word, const std::string& place) const;

  const Preprocessing& like_;
  std::map<std::string, std::int64_t> characters_;  // empty: tokens are numbers
};

}  // namespace esper::data
