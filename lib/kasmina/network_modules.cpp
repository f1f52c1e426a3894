// Modules that the host has from the start (host.modules): what a grown network is compared with.

#include <algorithm>

#include "base/error.h"
#include "kasmina/network.h"

namespace esper::kasmina {
namespace {

[[noreturn]] void fail(const std::string& module, const std::string& reason) {
  throw base::Error(base::ExitCode::kConfig, "host.modules: " + module + ": " + reason);
}

std::string names_of(const std::vector<SlotSite>& sites) {
  std::string text;
  for (const auto& site : sites) text += (text.empty() ? "" : ", ") + site.id;
  return text.empty() ? "none" : text;
}

const Blueprint& blueprint_for(const std::string& module, const std::string& name, const FeatureShape& shape) {
  const auto* blueprint = find_blueprint(name, shape.kind);
  if (!blueprint) {
    fail(module,
         "no blueprint \"" + name + "\" is made for what this host's slots hold; docs/blueprints.md lists them");
  }
  if (const auto misfit = refusal(*blueprint, shape); !misfit.empty()) fail(module, misfit);
  return *blueprint;
}

}  // namespace

// The form SLOT=BLUEPRINT was checked with the configuration.
void Network::build_in(const std::vector<std::string>& modules) {
  for (const auto& module : modules) {
    const auto equals = std::min(module.find('='), module.size());
    const auto slot =
        std::ranges::find(slots_, module.substr(0, equals), [](const Slot& known) { return known.site.id; });
    if (slot == slots_.end()) fail(module, "this host has no such slot; it has " + names_of(host_.sites));
    if (slot->seed) fail(module, "the slot holds another module already");
    const auto& blueprint = blueprint_for(module, module.substr(std::min(equals + 1, module.size())), slot->site.shape);
    const AlphaSchedule schedule = schedule_at(slot->site.id, growth_);
    slot->seed = make_seed({++seeds_born_, &blueprint, slot->site.shape, schedule}, growth_, run_seed_, device_);
    slot->seed->alpha = hold_alpha(schedule.curve, 1);
    slot->stage = leyline::Stage::kFossilized;
    refresh_scalars(*slot);
  }
}

}  // namespace esper::kasmina
