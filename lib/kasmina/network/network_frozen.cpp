#include "kasmina/network/network_frozen.h"

#include <algorithm>

#include "base/error.h"
#include "kasmina/network/host_pattern.h"

namespace esper::kasmina {
namespace {

std::string_view pattern_in(std::string_view text) { return text.starts_with('!') ? text.substr(1) : text; }

}  // namespace

bool is_frozen(const NetworkState& network, std::string_view id) {
  const auto& [patterns, until_epoch] = network.frozen;
  if (until_epoch > 0 && network.epoch >= until_epoch) return false;
  bool frozen = false;
  for (const auto& text : patterns) {
    if (fits_host_parameter(id, pattern_in(text))) frozen = !text.starts_with('!');
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
  for (const auto& text : network.frozen.patterns) {
    require_host_parameter(pattern_in(text), parameters, "host.freeze", text);
  }
  if (std::ranges::any_of(parameters, [&](const auto& parameter) { return !is_frozen(network, parameter.id); })) return;
  throw base::Error(base::ExitCode::kConfig,
                    "host.freeze: nothing is left that learns before a seed grows; take the last layer out again, like "
                    "[\"*\", \"!head.*\"]");
}

}  // namespace esper::kasmina
