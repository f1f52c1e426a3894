#include "kasmina/network/network_modules.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {
namespace {

// The name was checked with the configuration; the feature's size is known only here.
SeedKind kind_at(const SlotSite& site, const config::Entry<config::SlotModule>& module) {
  const auto kind = find_seed_kind(module->blueprint, site.shape.kind);
  ESPER_CHECK(kind, "host.modules was not checked: " + module.text());
  if (const auto fit = check_fit(*kind, site); !fit) {
    throw base::Error(base::ExitCode::kConfig, fmt::format("host.modules: {}: {}", module.text(), fit.error()));
  }
  return *kind;
}

}  // namespace

void build_in(NetworkState& network, const std::vector<config::Entry<config::SlotModule>>& modules) {
  auto& structure = network.structure;
  for (const auto& module : modules) {
    ESPER_CHECK(module, "host.modules was not checked: " + module.text());
    const auto slot = std::ranges::find(structure.slots, module->slot, [](const Slot& known) { return known.site.id; });
    ESPER_CHECK(slot != structure.slots.end() && !slot->seed, "host.modules was not checked: " + module.text());
    const SeedKind kind = kind_at(slot->site, module);
    const AlphaSchedule& schedule = network.rules[index_of(network, *slot)].schedule;
    slot->seed = make_seed({++structure.seeds_born, kind, slot->site, schedule}, network.growth, network.run_seed,
                           network.device);
    slot->seed->alpha = hold_alpha(schedule.curve, 1);
    slot->stage = leyline::Stage::kFossilized;
    slot->seed->in_host = is_widening(*slot->seed);
    refresh_scalars(*slot, network.growth);
  }
}

}  // namespace esper::kasmina
