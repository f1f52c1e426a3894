// Modules that the host has from the start (host.modules): a baseline for grown networks.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "kasmina/network.h"
#include "kasmina/widening.h"

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

void Network::build_in(const std::vector<config::Entry<config::SlotModule>>& modules) {
  for (const auto& module : modules) {
    ESPER_CHECK(module, "host.modules was not checked: " + module.text());
    const auto slot =
        std::ranges::find(structure_.slots, module->slot, [](const Slot& known) { return known.site.id; });
    ESPER_CHECK(slot != structure_.slots.end() && !slot->seed, "host.modules was not checked: " + module.text());
    const SeedKind kind = kind_at(slot->site, module);
    const AlphaSchedule& schedule = rules_[index_of(*slot)].schedule;
    slot->seed = make_seed({++structure_.seeds_born, kind, slot->site, schedule}, growth_, run_seed_, device_);
    slot->seed->alpha = hold_alpha(schedule.curve, 1);
    slot->stage = leyline::Stage::kFossilized;
    slot->seed->in_host = is_widening(*slot->seed);
    refresh_scalars(*slot, growth_);
  }
}

}  // namespace esper::kasmina
