#include "config/yaml/yaml_encoding.h"

#include "base/text/utf8.h"
#include "config/yaml/yaml_document.h"

namespace esper::config {

using base::Place;
using base::Problem;
using base::utf8_length;

namespace {

std::optional<std::string> wrong_start(std::string_view text) {
  const std::string_view head = text.substr(0, 4);
  const bool utf16_mark = head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF");
  const bool every_other_zero = head.size() >= 2 && (head[0] == '\0') != (head[1] == '\0');
  if (utf16_mark || every_other_zero) return "the file is UTF-16 or UTF-32; save it as UTF-8";
  if (head.starts_with("\xEF\xBB\xBF")) {
    return "the file starts with a byte order mark; save it as UTF-8 without one";
  }
  return std::nullopt;
}

std::optional<std::string> wrong_byte(std::string_view rest, bool in_indentation, bool at_line_start) {
  const auto byte = static_cast<unsigned char>(rest[0]);
  if (byte == '\t' && in_indentation) return "tab in the indentation; use spaces";
  if (byte == '%' && at_line_start) return "directives (lines that begin with %) are not accepted; remove the line";
  if (byte == '\r' && !rest.starts_with("\r\n")) return "carriage return without a line feed";
  if (byte == '\0') return "NUL byte; the file is not text";
  const bool control = (byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7F;
  if (control) return "control character; remove it";
  if (utf8_length(rest) < 0) return "not UTF-8; save the file as UTF-8";
  return std::nullopt;
}

}  // namespace

std::optional<Problem> unfit_for_yaml(std::string_view text, const std::string& file) {
  const auto problem = [&](int at_line, int at_column, const std::string& what) {
    return std::optional<Problem>(std::in_place, Problem{Place{file, at_line, at_column}, std::string(), what});
  };
  if (text.size() > YamlLimits::kBytes) return problem(0, 0, "larger than 1 MiB, the limit for a file");
  if (const auto wrong = wrong_start(text)) return problem(1, 1, *wrong);
  int line = 1, column = 1;
  bool in_indentation = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (const auto wrong = wrong_byte(rest, in_indentation, column == 1)) return problem(line, column, *wrong);
    if (column > YamlLimits::kLineBytes) return problem(line, column, "a line of more than 10000 characters");
    if (text[i] == '\n') {
      ++line;
      column = 1;
      in_indentation = true;
    } else {
      ++column;
      in_indentation &= text[i] == ' ';
    }
    i += static_cast<std::size_t>(utf8_length(rest));
  }
  return std::nullopt;
}

}  // namespace esper::config
