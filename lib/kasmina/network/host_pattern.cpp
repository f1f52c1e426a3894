#include "kasmina/network/host_pattern.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/pattern.h"
#include "base/text/printable.h"

namespace esper::kasmina {
namespace {

constexpr std::string_view kHost = "host.";

// What may have been meant, or what there is.
std::string hint_of_parameters(std::string_view pattern, std::span<const NamedTensor> host) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> known;
  for (const auto& parameter : host) known.push_back(parameter.id.substr(kHost.size()));
  if (const auto close = base::nearest(std::string(pattern), known)) return "; did you mean " + *close + "?";
  const bool more = known.size() > kShown;
  known.resize(std::min(known.size(), kShown));
  return "; its parameters: " + base::joined(known) + (more ? ", ..." : "");
}

}  // namespace

bool fits_host_parameter(std::string_view id, std::string_view pattern) {
  if (!id.starts_with(kHost)) return false;
  return base::fits_pattern(id, pattern) || base::fits_pattern(id.substr(kHost.size()), pattern);
}

void require_host_parameter(std::string_view pattern, std::span<const NamedTensor> host, const std::string& field,
                            std::string_view text) {
  const auto fits = [&](const NamedTensor& parameter) { return fits_host_parameter(parameter.id, pattern); };
  if (std::ranges::any_of(host, fits)) return;
  throw base::Error(
      base::ExitCode::kConfig,
      field + ": " + base::in_quotes(text) + " matches no parameter of the host" + hint_of_parameters(pattern, host));
}

}  // namespace esper::kasmina
