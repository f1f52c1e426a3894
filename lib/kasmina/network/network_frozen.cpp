#include "kasmina/network/network_frozen.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/pattern.h"
#include "base/text/printable.h"

namespace esper::kasmina {
namespace {

constexpr std::string_view kHost = "host.";

std::string_view pattern_in(std::string_view text) { return text.starts_with('!') ? text.substr(1) : text; }

bool names(std::string_view text, std::string_view id) {
  const auto pattern = pattern_in(text);
  return base::fits_pattern(id, pattern) || base::fits_pattern(id.substr(kHost.size()), pattern);
}

}  // namespace

bool is_frozen(const NetworkState& network, std::string_view id) {
  const auto& [patterns, until_epoch] = network.frozen;
  if (until_epoch > 0 && network.epoch >= until_epoch) return false;
  bool frozen = false;
  for (const auto& text : patterns) {
    if (names(text, id)) frozen = !text.starts_with('!');
  }
  return frozen;
}

bool refresh_frozen(NetworkState& network) {
  bool changed = false;
  for (const auto& [id, tensor] : network.host.tensors.parameters) {
    const bool learns = !is_frozen(network, id);
    changed |= tensor.requires_grad() != learns;
    tensor.requires_grad_(learns);
  }
  return changed;
}

void check_frozen(const NetworkState& network) {
  const auto& parameters = network.host.tensors.parameters;
  std::vector<std::string> known;
  for (const auto& [id, tensor] : parameters) known.push_back(id.substr(kHost.size()));
  for (const auto& text : network.frozen.patterns) {
    if (std::ranges::any_of(parameters, [&](const auto& parameter) { return names(text, parameter.id); })) continue;
    const auto close = base::nearest(std::string(pattern_in(text)), known);
    throw base::Error(base::ExitCode::kConfig, "host.freeze: " + base::in_quotes(text) +
                                                   " fits no parameter of the host" +
                                                   (close ? "; did you mean " + *close + "?" : ""));
  }
  if (std::ranges::any_of(parameters, [&](const auto& parameter) { return !is_frozen(network, parameter.id); })) return;
  throw base::Error(base::ExitCode::kConfig,
                    "host.freeze: nothing is left that learns before a seed grows; take the last layer out again, like "
                    "[\"*\", \"!head.*\"]");
}

}  // namespace esper::kasmina
