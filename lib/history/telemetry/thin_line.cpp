#include "history/telemetry/thin_line.h"

#include "base/text/raw_json.h"

namespace esper::history {
namespace {

constexpr std::string_view kMetrics = "\"metrics\":[";
constexpr std::string_view kName = "{\"name\":\"";
constexpr std::size_t kNone = std::string_view::npos;

}  // namespace

bool thin_line(std::string_view line, const WantedMetric& wanted, std::string& out) {
  const std::size_t found = line.find(kMetrics);
  if (found == kNone) return false;
  std::size_t at = found + kMetrics.size();
  out.assign(line.substr(0, at));
  bool first = true;
  while (line.substr(at).starts_with(kName)) {
    const std::size_t name = at + kName.size(), end = base::behind_json_value(line, at);
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
