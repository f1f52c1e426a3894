#include "base/text/raw_json.h"

#include <algorithm>

namespace esper::base {
namespace {

constexpr std::size_t kNoEnd = std::string_view::npos;
constexpr std::string_view kJsonSpace = " \t\r\n";

std::size_t behind_space(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(kJsonSpace, at), text.size());
}

// at: of its opening quote.
std::size_t behind_text(std::string_view text, std::size_t at) {
  for (std::size_t from = at + 1;;) {
    const std::size_t quote = text.find('"', from);
    if (quote == kNoEnd) return kNoEnd;
    std::size_t slashes = 0;
    while (text[quote - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return quote + 1;
    from = quote + 1;
  }
}

// at: of its opening bracket.
std::size_t behind_brackets(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = behind_text(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
    ++at;
  }
  return kNoEnd;
}

class MemberReader {
 public:
  explicit MemberReader(std::string_view text) : text_(text) {}

  std::optional<RawObject> read() {
    RawObject members;
    if (!skip('{')) return std::nullopt;
    if (!skip('}')) {
      do {
        const auto name = next_value();
        if (!name.starts_with('"') || !skip(':')) return std::nullopt;
        const auto value = next_value();
        if (value.empty()) return std::nullopt;
        members.push_back({name.substr(1, name.size() - 2), value});
      } while (skip(','));
      if (!skip('}')) return std::nullopt;
    }
    return behind_space(text_, at_) == text_.size() ? std::optional(std::move(members)) : std::nullopt;
  }

 private:
  bool skip(char wanted) {
    at_ = behind_space(text_, at_);
    if (!text_.substr(at_).starts_with(wanted)) return false;
    ++at_;
    return true;
  }

  // Empty where there is none.
  std::string_view next_value() {
    const std::size_t begin = behind_space(text_, at_), end = behind_json_value(text_, begin);
    if (end == kNoEnd) return {};
    at_ = end;
    return text_.substr(begin, end - begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::size_t behind_json_value(std::string_view text, std::size_t at) {
  if (at >= text.size()) return kNoEnd;
  if (text[at] == '"') return behind_text(text, at);
  if (text[at] == '{' || text[at] == '[') return behind_brackets(text, at);
  return std::min(text.find_first_of(",:]} \t\r\n", at), text.size());
}

std::optional<RawObject> raw_object(std::string_view text) { return MemberReader(text).read(); }

std::string_view raw_value(const RawObject& object, std::string_view name) {
  const auto found = std::ranges::find(object, name, &RawMember::name);
  return found == object.end() ? std::string_view() : found->value;
}

}  // namespace esper::base
