#include "config/loading/read_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/parse_number.h"
#include "base/text/ascii.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"
#include "config/fields/field_text.h"

namespace esper::config {

using base::Duration;
using base::first_control_character;
using base::in_quotes;
using base::Length;
using base::nearest;
using base::parse_duration;
using base::parse_length;
using base::Problem;
using base::shortened;

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a section";
    case YamlNode::Kind::kScalar:
      break;
  }
  return in_quotes(node.text);
}

// "010", "-07", "00.5": a leading zero that YAML 1.1 may take for octal.
bool octal_looking(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && (text[1] == 'o' || text[1] == 'O')) return true;
  return text.size() > 1 && text[0] == '0' && digit(text[1]);
}

// Words that YAML 1.1 or its readers take for a boolean.
bool boolean_word(std::string_view text) {
  constexpr std::array kWords{"yes", "no", "on", "off", "true", "false", "y", "n"};
  return std::find(kWords.begin(), kWords.end(), base::lower_case(std::string(text))) != kWords.end();
}

bool nonfinite_word(std::string_view text) {
  std::string word = base::lower_case(std::string(text));
  word.erase(0, word.find_first_not_of("+-."));
  return word == "nan" || word == "inf" || word == "infinity";
}

// Digits with an optional sign, point and exponent; nothing else that from_chars would take.
bool decimal_form(std::string_view text) {
  std::size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const auto skip_digits = [&] {
    const std::size_t from = i;
    while (i < text.size() && digit(text[i])) ++i;
    return i - from;
  };
  std::size_t digits = skip_digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (skip_digits() == 0) return false;
  }
  return i == text.size();
}

// Digits with an optional minus.
bool integer_form(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), digit);
}

// What is wrong with a text that has a control character: every text of a run file is a name or a path.
std::optional<std::string> control_character(std::string_view text) {
  const auto at = first_control_character(text);
  if (!at) return std::nullopt;
  return fmt::format("expected text without control characters, found U+{:04X} at byte {}",
                     static_cast<std::uint32_t>(at->code_point), at->offset + 1);
}

class Reader {
 public:
  Reader(const FieldRow& row, const YamlNode& node, std::string path, std::vector<Problem>& problems)
      : row_(row), node_(node), path_(std::move(path)), problems_(problems) {}

  void operator()(const SectionField&) {}
  void operator()(const EnumField& field) {
    std::vector<std::string> names(field.names.begin(), field.names.end());
    const auto found = std::find(names.begin(), names.end(), node_.text);
    if (is_scalar() && found != names.end()) {
      return field.set(field.value, static_cast<std::size_t>(found - names.begin()));
    }
    const auto close = is_scalar() ? nearest(base::lower_case(node_.text), names) : std::nullopt;
    expected(type_text(field), close ? "; did you mean " + *close + "?" : "");
  }
  void operator()(const EntriesField& field) {
    auto texts = field.get(field.value);
    (*this)(&texts);
    field.set(field.value, texts);
  }
  void operator()(bool* value) {
    const bool known = is_plain() && (node_.text == "true" || node_.text == "false");
    if (!known) return expected("true or false", "");
    *value = node_.text == "true";
  }
  void operator()(int* value) { read_integer(value); }
  void operator()(std::int64_t* value) { read_integer(value); }
  void operator()(std::uint64_t* value) { read_integer(value); }
  void operator()(double* value) {
    if (!is_plain_number("a number", decimal_form)) return;
    if (nonfinite_word(node_.text)) return expected("a finite number", "");
    if (!decimal_form(node_.text)) return expected("a number", "");
    std::string_view text = node_.text;
    if (text.starts_with('+')) text.remove_prefix(1);
    const auto number = base::parse_number<double>(text);
    if (!number) return expected("a finite number", "");
    if (within_limits(*number)) *value = *number;
  }
  void operator()(std::string* value) {
    if (node_.kind == YamlNode::Kind::kNull) return expected("text", "; write \"\" for none");
    if (!is_scalar()) return expected("text", "");
    if (is_plain() && boolean_word(node_.text)) return expected("text", ", which reads as a boolean; put it in quotes");
    if (const auto wrong = control_character(node_.text)) return report(*wrong);
    *value = node_.text;
  }
  void operator()(Duration* value) {
    const auto read = is_scalar() ? parse_duration(node_.text) : std::nullopt;
    if (!read) return expected("a duration with its unit, like 500ms, 2s or 1h", "");
    *value = *read;
  }
  void operator()(Length* value) {
    const auto read = is_scalar() ? parse_length(node_.text) : std::nullopt;
    if (!read) return expected("a number of epochs or steps, like 3 epochs or 200 steps", "");
    *value = *read;
  }
  template <class T>
  void operator()(std::vector<T>* value) {
    if (node_.kind != YamlNode::Kind::kList) return expected("a list, like " + example(*value), "");
    const std::size_t before = problems_.size();
    std::vector<T> list(node_.items.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      Reader item(row_, node_.items[i], fmt::format("{}[{}]", path_, i), problems_);
      item(&list[i]);
    }
    if (problems_.size() == before) *value = std::move(list);
  }

 private:
  static std::string example(const std::vector<std::string>&) { return "[a, b]"; }
  static std::string example(const std::vector<double>&) { return "[1, 0.5]"; }
  static std::string example(const std::vector<std::int64_t>&) { return "[64, 64]"; }

  bool is_scalar() const { return node_.kind == YamlNode::Kind::kScalar; }
  bool is_plain() const { return is_scalar() && node_.style == YamlNode::Style::kPlain; }

  void report(std::string text) { problems_.push_back({node_.place, path_, std::move(text)}); }
  void expected(const std::string& what, const std::string& hint) {
    report("expected " + what + ", found " + shown(node_) + hint);
  }

  // Reports a node that is no scalar, is quoted or could be octal. `form` is what the text of a `noun` looks like.
  bool is_plain_number(const std::string& noun, bool (*form)(std::string_view)) {
    const bool valid = is_scalar() && form(node_.text) && !octal_looking(node_.text);
    if (!is_scalar()) {
      expected(noun, "");
    } else if (!is_plain()) {
      expected(noun, valid ? " in quotes; remove the quotes" : "");
    } else if (octal_looking(node_.text)) {
      expected(noun, "; it could be octal: write it in decimal, without a leading zero");
    } else {
      return true;
    }
    return false;
  }

  bool within_limits(double number) {
    const Limits& limits = row_.limits;
    if ((!limits.min || number >= *limits.min) && (!limits.max || number <= *limits.max)) return true;
    report("must be " + limits_text(limits) + ", but is " + shortened(node_.text));
    return false;
  }

  template <class T>
  void read_integer(T* value) {
    constexpr const char* kNoun = "a whole number";
    if (!is_plain_number(kNoun, integer_form)) return;
    const std::string& text = node_.text;
    if (!integer_form(text)) return expected(kNoun, digit(text[0]) ? "; use digits only" : "");
    T number{};
    const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool negative = text.starts_with('-');
    if (result.ec != std::errc{}) {
      const Limits own{std::is_unsigned_v<T> ? std::optional(0.0) : std::nullopt, std::nullopt};
      if (negative && std::is_unsigned_v<T>)
        return report("must be " + limits_text(own) + ", but is " + shortened(text));
      return report(fmt::format("does not fit into {} bits: {}", sizeof(T) * 8, shown(node_)));
    }
    if (within_limits(static_cast<double>(number))) *value = number;
  }

  const FieldRow& row_;
  const YamlNode& node_;
  std::string path_;
  std::vector<Problem>& problems_;
};

}  // namespace

void read_value(const FieldRow& row, const YamlNode& node, std::vector<Problem>& problems) {
  Reader reader(row, node, row.path, problems);
  std::visit(reader, row.value);
}

}  // namespace esper::config
