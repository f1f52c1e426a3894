#include "kasmina/network/network_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text/joined.h"
#include "config/facts/slot_geometry.h"
#include "kasmina/network/network_frozen.h"
#include "kasmina/network/network_modules.h"
#include "kasmina/network/network_tensors.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

// True if the blueprint fits a slot that growth.slots includes.
bool fits_somewhere(const std::string& name, const std::vector<SlotSite>& sites, const config::GrowthConfig& growth) {
  return std::ranges::any_of(sites, [&](const SlotSite& site) {
    if (!config::may_grow_at(growth.slots, site.id)) return false;
    const Blueprint* blueprint = find_blueprint(name, site.shape.kind);
    return blueprint != nullptr && check_fit({blueprint}, site);
  });
}

// The names were checked with the configuration; the sizes of features are known only here.
void require_fit(const config::GrowthConfig& growth, const std::vector<SlotSite>& sites) {
  if (!growth.enabled || growth.blueprints.empty() || sites.empty()) return;
  if (std::ranges::any_of(growth.blueprints, [&](const auto& name) { return fits_somewhere(name, sites, growth); })) {
    return;
  }
  throw base::Error(
      base::ExitCode::kConfig,
      fmt::format("growth.blueprints: none of {} fits a slot {}; see docs/blueprints.md",
                  base::joined(growth.blueprints), growth.slots.empty() ? "of this host" : "that growth.slots names"));
}

void require_shadow(const Host& host, const config::GrowthConfig& growth) {
  if (!growth.enabled || growth.training != config::SeedTraining::kShadow || host.no_shadow.empty()) return;
  throw base::Error(base::ExitCode::kConfig,
                    "growth.training: no seed can train in the shadow of this network, since " + host.no_shadow +
                        "; use blended or straight_through");
}

}  // namespace

NetworkState build_network(const config::HostConfig& host, const config::GrowthConfig& growth,
                           const leyline::SampleShape& sample, std::uint64_t run_seed, torch::Device device) {
  NetworkState network{build_host(host, sample, run_seed, device, growth.slots), growth, run_seed, device};
  require_shadow(network.host, growth);
  require_fit(growth, network.host.sites);
  for (const auto& site : network.host.sites) {
    Slot slot;
    slot.site = site;
    move_slot(slot, Stage::kDormant, std::nullopt);
    if (first_stage(site.id, growth) != Stage::kDormant) move_slot(slot, Stage::kTerminated, std::nullopt);
    network.structure.slots.push_back(std::move(slot));
    network.rules.push_back(rules_at(site, growth));
  }
  build_in(network, host.modules);
  network.frozen = {host.freeze, static_cast<std::uint32_t>(host.unfreeze_epoch)};
  check_frozen(network);
  refresh_frozen(network);
  assign_owners(network);
  return network;
}

std::size_t index_of(const NetworkState& network, const Slot& slot) {
  return static_cast<std::size_t>(&slot - network.structure.slots.data());
}

}  // namespace esper::kasmina
