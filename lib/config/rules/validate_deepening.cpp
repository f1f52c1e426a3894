// The rules of growth.kind deepen.
#include <fmt/core.h>

#include <algorithm>

#include "base/names.h"
#include "base/text/joined.h"
#include "config/facts/data_facts.h"
#include "config/facts/deepening.h"
#include "config/rules/rules.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::config {

namespace {

using base::name_of;

void check_time(const RunConfig& config, Findings& out) {
  const std::string& at = config.growth.deepen.at;
  const auto mark = EpochMark::parse(at);
  if (!mark) {
    out.push_back({"growth.deepen.at", mark.error() + "; write it like 25% or 10", {}});
  } else if (const int due = mark->due_epoch(config.epochs); due >= config.epochs) {
    out.push_back({"growth.deepen.at",
                   fmt::format("{} is after epoch {} of {}, and nothing is grown after the last epoch; name an earlier "
                               "point, or raise epochs",
                               at, due, config.epochs),
                   {"epochs"}});
  }
}

std::string why_not(const RunConfig& config, const SlotGeometry& slot) {
  const auto* copy = leyline::find_blueprint_facts(copied_blueprint(config.growth.deepen.form), slot.shape.kind);
  if (copy == nullptr) return fmt::format("the blocks of kind {} are not residual", name_of(config.host.kind));
  const auto fit = leyline::check_fit(*copy, slot.shape);
  return fit ? "" : fit.error();
}

void report_no_blocks(const RunConfig& config, Findings& out) {
  const auto slots = slot_geometry(config.host, known_sample(config.data), config.growth.slots);
  const std::string reason = slots.empty() ? "the host has no slots" : why_not(config, slots.front());
  if (reason.empty()) return;  // growth.slots names none of the host's slots: reported as such
  out.push_back(
      {"growth.kind",
       fmt::format("deepen finds no block to copy: {}; use a transformer, a cnn with host.residual_blocks, or "
                   "growth.kind modules",
                   reason),
       {"host.kind", "host.residual_blocks", "growth.slots"}});
}

void check_slots(const RunConfig& config, Findings& out) {
  const auto& named = config.growth.slots;
  const auto slots = slot_geometry(config.host, known_sample(config.data), config.growth.slots);
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto slot = std::ranges::find(slots, named[i], &SlotGeometry::id);
    const std::string reason = slot == slots.end() ? "" : why_not(config, *slot);
    if (!reason.empty()) out.push_back({fmt::format("growth.slots[{}]", i), reason, {"growth.kind", "host.kind"}});
  }
}

// The others never leave the host's feature, or count it twice: at alpha 1 the network is not the deeper one.
void check_composition(const RunConfig& config, Findings& out) {
  const Composition composition = config.growth.composition;
  if (composition == Composition::kAdd || composition == Composition::kConvex) return;
  out.push_back({"growth.composition",
                 fmt::format("with {} the network with its copies never becomes the deeper network; growth.kind deepen "
                             "takes add or convex",
                             name_of(composition)),
                 {"growth.kind"}});
}

void check_evidence(const RunConfig& config, Findings& out) {
  const auto count = deepened_slots(config).size();
  const bool grows = config.growth.enabled && config.policy.deciding() == PolicyKind::kSchedule;
  if (!grows || config.growth.gates.evidence != Evidence::kControl || count < 2) return;
  out.push_back({"growth.gates.evidence",
                 fmt::format("with control seeds grow one at a time, and growth.kind deepen copies {} blocks at once; "
                             "use none or ablation, or name one block in growth.slots",
                             count),
                 {"growth.kind", "growth.slots"}});
}

void check_room(const RunConfig& config, Findings& out) {
  const auto slots = deepened_slots(config);
  const auto& blueprints = config.growth.blueprints;
  const std::string copy = copied_blueprint(config.growth.deepen.form);
  if (static_cast<std::size_t>(config.growth.max_seeds) < slots.size()) {
    out.push_back({"growth.max_seeds",
                   fmt::format("growth.kind deepen copies {} blocks at once; set it to {} or leave it out, or name "
                               "fewer blocks in growth.slots",
                               slots.size(), slots.size()),
                   {"growth.kind"}});
  }
  if (std::ranges::find(blueprints, copy) == blueprints.end()) {
    out.push_back({"growth.blueprints",
                   fmt::format("growth.kind deepen grows {}, and this has {}; add it, or leave growth.blueprints out",
                               copy, blueprints.empty() ? "none" : base::joined(blueprints)),
                   {"growth.kind", "growth.deepen.form"}});
  }
  const auto is_deepened = [&](const std::string& slot) {
    return std::ranges::find(slots, slot, &SlotGeometry::id) != slots.end();
  };
  for (std::size_t i = 0; i < config.host.modules.size(); ++i) {
    const auto& module = config.host.modules[i];
    if (!module || !is_deepened(module->slot)) continue;
    out.push_back({fmt::format("host.modules[{}]", i),
                   module->slot + " gets a copy by growth.kind deepen; name the other slots in growth.slots",
                   {"growth.kind"}});
  }
  for (std::size_t i = 0; i < config.policy.schedule.size(); ++i) {
    const auto& line = config.policy.schedule[i];
    if (!line || !is_deepened(line->slot)) continue;
    out.push_back({fmt::format("policy.schedule[{}]", i),
                   line->slot + " gets a copy by growth.kind deepen; leave this line out, or name the slots to deepen "
                                "in growth.slots",
                   {"growth.kind"}});
  }
}

}  // namespace

void check_deepening(const RunConfig& config, Findings& out) {
  if (config.growth.kind != GrowthKind::kDeepen) return;
  if (deepened_slots(config).empty()) return report_no_blocks(config, out);
  const PolicyKind policy = config.policy.deciding();
  if (policy != PolicyKind::kSchedule && policy != PolicyKind::kNone) {
    out.push_back({"policy.kind",
                   fmt::format("growth.kind deepen is carried out by schedule, and this is {}; leave it out, or use "
                               "growth.kind modules",
                               name_of(policy)),
                   {"growth.kind"}});
  }
  check_time(config, out);
  check_slots(config, out);
  check_composition(config, out);
  check_evidence(config, out);
  check_room(config, out);
}

}  // namespace esper::config
