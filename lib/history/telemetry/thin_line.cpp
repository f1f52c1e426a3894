#include "history/telemetry/thin_line.h"

#include <cstring>

namespace esper::history {
namespace {

constexpr std::string_view kMetrics = "\"metrics\":[";
constexpr std::string_view kName = "{\"name\":\"";
constexpr std::size_t kNone = std::string_view::npos;

// The place behind the string that begins (with its quote) at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (std::size_t from = at + 1;;) {
    const std::size_t quote = text.find('"', from);
    if (quote == kNone) return kNone;
    std::size_t slashes = 0;
    while (text[quote - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return quote + 1;
    from = quote + 1;
  }
}

// The place behind the object that begins at `at`.
std::size_t behind_object(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at);
      if (at == kNone) return kNone;
      continue;
    }
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return at + 1;
    ++at;
  }
  return kNone;
}

}  // namespace

bool thin_line(std::string_view line, const WantedMetric& wanted, std::string& out) {
  const std::size_t found = line.find(kMetrics);
  if (found == kNone) return false;
  std::size_t at = found + kMetrics.size();
  out.assign(line.substr(0, at));
  bool first = true;
  while (line.substr(at).starts_with(kName)) {
    const std::size_t name = at + kName.size(), end = behind_object(line, at);
    const std::size_t quote = line.find('"', name);
    if (end == kNone || quote >= end) return false;
    if (wanted(line.substr(name, quote - name))) {
      if (!first) out += ',';
      out += line.substr(at, end - at);
      first = false;
    }
    at = end;
    if (!line.substr(at).starts_with(',')) break;
    if (!line.substr(++at).starts_with(kName)) return false;
  }
  if (!line.substr(at).starts_with(']')) return false;
  out += line.substr(at);
  return true;
}

}  // namespace esper::history
