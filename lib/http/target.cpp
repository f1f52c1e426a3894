#include "http/target.h"

#include <fmt/core.h>

#include <optional>

#include "base/text/ascii.h"
#include "base/text/utf8.h"

namespace esper::http {
namespace {

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

enum class Part { kPath, kQuery };

// Nothing where an escape is incomplete.
std::optional<std::string> percent_decoded(std::string_view text, Part part) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i] == '+' && part == Part::kQuery ? ' ' : text[i];
    }
  }
  return decoded;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const int length = base::utf8_length(text);
    if (length <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

base::Expected<std::string> decoded_part(std::string_view text, Part part) {
  auto decoded = percent_decoded(text, part);
  if (!decoded) return base::failure("an incomplete % escape in the target");
  if (!is_utf8(*decoded)) return base::failure("the target is not UTF-8");
  if (decoded->find('\0') != std::string::npos || (part == Part::kPath && base::first_control_character(*decoded)))
    return base::failure("a control character in the target");
  return *std::move(decoded);
}

}  // namespace

base::Expected<Target> parse_target(std::string_view text) {
  if (text.empty() || text.front() != '/') return base::failure("the target must begin with /");
  const auto mark = text.find('?');
  auto path = decoded_part(text.substr(0, mark), Part::kPath);
  if (!path) return base::failure(path.error());
  Target target{.path = *std::move(path), .query = {}};
  std::string_view rest = mark == text.npos ? std::string_view() : text.substr(mark + 1);
  while (!rest.empty()) {
    const auto pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    auto name = decoded_part(pair.substr(0, equals), Part::kQuery);
    auto value = decoded_part(equals == pair.npos ? std::string_view() : pair.substr(equals + 1), Part::kQuery);
    if (!name) return base::failure(name.error());
    if (!value) return base::failure(value.error());
    if (!target.query.emplace(*name, *std::move(value)).second) return base::failure("a name comes twice in the query");
  }
  return target;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (base::is_alphanumeric_or(c, "-._~"))
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace esper::http
