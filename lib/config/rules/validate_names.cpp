// Names in the run file that must exist: slots in the host, blueprints in the catalogue, classes in the data.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/facts/data_facts.h"
#include "config/facts/exported_host.h"
#include "config/facts/slot_geometry.h"
#include "config/rules/rules.h"
#include "leyline/blueprint/blueprint_name.h"
#include "leyline/blueprint/blueprint_table.h"
#include "leyline/slot_id.h"

namespace esper::config {

using base::in_quotes;
using base::joined;
using base::name_of;
using base::nearest;
using leyline::blueprint_table;
using leyline::BlueprintFacts;
using leyline::BlueprintName;
using leyline::FeatureKind;
using leyline::find_blueprint_facts;
using leyline::is_blueprint;
using leyline::is_slot_id;
using leyline::may_fit;

namespace {

using Slots = std::vector<SlotGeometry>;

// What the number and the shapes of a host's slots follow from.
const std::vector<std::string>& host_fields() {
  static const std::vector<std::string> fields{
      "host.kind",          "host.hidden",    "host.blocks",          "host.segments",
      "host.base_channels", "host.embedding", "host.residual_blocks", "host.path"};
  return fields;
}

std::string at(const std::string& list, std::size_t i) { return fmt::format("{}[{}]", list, i); }

// Null where there is no such slot.
const SlotGeometry* find_slot(const Slots& slots, std::string_view id) {
  const auto found = std::ranges::find(slots, id, &SlotGeometry::id);
  return found == slots.end() ? nullptr : &*found;
}

// names: by their place in the list of that path; empty where the text was no slot.
void check_slots(const std::string& path, const std::vector<std::string>& names, const Slots& slots, Findings& out) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || find_slot(slots, names[i]) != nullptr) continue;
    out.push_back({at(path, i),
                   "this host has no slot " + in_quotes(names[i]) + "; it has " +
                       (slots.empty() ? "none" : slots.front().id + " to " + slots.back().id),
                   host_fields()});
  }
}

// The slots of entries, by their place in the list; empty where the text was no entry.
template <class T>
std::vector<std::string> slots_of(const std::vector<Entry<T>>& entries) {
  std::vector<std::string> slots;
  for (const auto& entry : entries) slots.push_back(entry ? entry->slot : "");
  return slots;
}

// Of an imported network: each text of growth.slots names a place of it.
void check_places(const RunConfig& config, const ExportedHost& host, Findings& out) {
  const auto& named = config.growth.slots;
  std::vector<std::string> known;
  for (const auto& site : host.sites) known.push_back(site.path);
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (std::ranges::any_of(host.sites, [&](const auto& site) { return names_site(site, named[i]); })) continue;
    const auto close = nearest(named[i], known);
    out.push_back(
        {at("growth.slots", i),
         fmt::format("{} names no module of {} whose output has a shape that modules can grow at{}; `esper "
                     "import --show {}` lists them",
                     in_quotes(named[i]), host.source, close ? "; did you mean " + *close + "?" : "", config.host.path),
         {"host.path"}});
  }
}

void check_growing_slots(const RunConfig& config, const Slots& slots, Findings& out) {
  if (config.host.kind == HostKind::kExported) {
    if (const auto host = read_exported_host(config.host.path)) check_places(config, *host, out);
    return;
  }
  std::vector<std::string> named;
  for (std::size_t i = 0; i < config.growth.slots.size(); ++i) {
    const std::string& slot = config.growth.slots[i];
    named.push_back(is_slot_id(slot) ? slot : "");
    if (is_slot_id(slot)) continue;
    out.push_back(
        {at("growth.slots", i), in_quotes(slot) + " is not a slot; slots are named like r0c1", {"host.kind"}});
  }
  check_slots("growth.slots", named, slots, out);
}

void check_all_slots(const RunConfig& config, const Slots& slots, Findings& out) {
  check_growing_slots(config, slots, out);
  check_slots("host.modules", slots_of(config.host.modules), slots, out);
  check_slots("growth.slot_alpha", slots_of(config.growth.slot_alpha), slots, out);
  check_slots("growth.aggregation.classes", slots_of(config.growth.aggregation.classes), slots, out);
  check_slots("policy.schedule", slots_of(config.policy.schedule), slots, out);
}

// What can be grown at such slots, or at any where there is none.
std::vector<std::string> known_at(const Slots& slots) {
  std::vector<std::string> known;
  for (const BlueprintFacts& entry : blueprint_table()) {
    const bool fits = slots.empty() ||
                      std::ranges::any_of(slots, [&](const SlotGeometry& slot) { return may_fit(entry, slot.shape); });
    if (fits && std::ranges::find(known, entry.name) == known.end()) known.emplace_back(entry.name);
  }
  return known;
}

std::string unknown_blueprint(const std::string& name, const Slots& slots) {
  const auto known = known_at(slots);
  const auto close = nearest(name, known);
  return "unknown blueprint " + in_quotes(name) + (close ? "; did you mean " + *close + "?" : ";") +
         (slots.empty() ? " Known are " : " This host can grow ") + joined(known);
}

// That it may fit.
base::Expected<void> check_fit(const BlueprintName& blueprint, const SlotGeometry& slot) {
  const auto& shape = slot.shape;
  const BlueprintFacts* entry = find_blueprint_facts(blueprint.plain, shape.kind);
  if (entry != nullptr && may_fit(*entry, shape, blueprint.copies)) return {};
  std::string text =
      blueprint.text() + " does not fit " + slot.id + ", a feature of kind " + std::string(name_of(shape.kind));
  if (entry != nullptr) {
    text += fmt::format(" with {} channels", shape.channels);
    const auto positions = shape.positions();
    if (positions && shape.kind != FeatureKind::kFeatures) {
      text += fmt::format(" at {} positions", *positions);
    }
  }
  // Why a block cannot be copied does not show in the shape.
  const bool is_copy = entry != nullptr && (entry->birth != leyline::Birth::kDrawn || blueprint.copies > 1);
  if (is_copy) text += ": " + leyline::check_fit(*entry, shape, blueprint.copies).error();
  return base::failure(text + "; blueprints that fit: " + joined(known_at({slot})));
}

// The blueprints of entries that name a slot and a blueprint, by their place in the list of that path.
template <class T>
void check_modules(const std::string& path, const std::vector<Entry<T>>& modules, const Slots& slots, Findings& out) {
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (!modules[i]) continue;
    const T& module = *modules[i];
    const SlotGeometry* slot = find_slot(slots, module.slot);
    const auto name = BlueprintName::parse(module.blueprint);
    if (!name) {
      out.push_back({at(path, i), name.error(), {}});
    } else if (!is_blueprint(name->plain)) {
      out.push_back({at(path, i), unknown_blueprint(name->plain, slot == nullptr ? slots : Slots{*slot}), {}});
    } else if (slot != nullptr) {
      const auto fits = check_fit(*name, *slot);
      if (!fits) out.push_back({at(path, i), fits.error(), host_fields()});
    }
  }
}

// Those that growth.slots does not leave out.
Slots growing_slots(const GrowthConfig& growth, const Slots& slots) {
  if (growth.slots.empty()) return slots;
  Slots growing;
  for (const SlotGeometry& slot : slots) {
    if (may_grow_at(growth.slots, slot.id)) growing.push_back(slot);
  }
  return growing;
}

// Names that fit other hosts are no mistake, as long as one of the list fits a slot that may grow here.
void check_blueprints(const GrowthConfig& growth, const Slots& all_slots, Findings& out) {
  const Slots slots = growing_slots(growth, all_slots);
  bool all_known = true, any_fits = false;
  for (std::size_t i = 0; i < growth.blueprints.size(); ++i) {
    const std::string& name = growth.blueprints[i];
    if (!is_blueprint(name)) {
      all_known = false;
      out.push_back({at("growth.blueprints", i), unknown_blueprint(name, slots.empty() ? all_slots : slots), {}});
    }
    any_fits |= std::ranges::any_of(slots, [&](const SlotGeometry& slot) {
      const BlueprintFacts* entry = find_blueprint_facts(name, slot.shape.kind);
      return entry != nullptr && may_fit(*entry, slot.shape);
    });
  }
  const bool can_grow = growth.enabled && !slots.empty() && !growth.blueprints.empty();
  if (!can_grow || !all_known || any_fits) return;
  auto looked_at = host_fields();
  looked_at.insert(looked_at.begin(), "growth.slots");
  out.push_back({"growth.blueprints",
                 "none of " + joined(growth.blueprints) + " fits a slot " +
                     (growth.slots.empty() ? "of this host" : "that growth.slots names") +
                     "; blueprints that fit: " + joined(known_at(slots)),
                 looked_at});
}

// Does not show in a slot's shape. In growth.blueprints it is no mistake, as other names that fit nowhere.
template <class T>
void check_widenings(const std::string& path, const std::vector<Entry<T>>& modules, const HostConfig& host,
                     Findings& out) {
  if (host.kind != HostKind::kCnn || host.residual_blocks < 1) return;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    if (!modules[i] || !leyline::is_widening(modules[i]->blueprint)) continue;
    out.push_back({at(path, i),
                   fmt::format("{} does not fit {}: the block before it ends in residual blocks, which its additional "
                               "channels would have to pass through; without host.residual_blocks it fits",
                               modules[i]->blueprint, modules[i]->slot),
                   {"host.residual_blocks"}});
  }
}

void check_classes(const RunConfig& config, Findings& out) {
  const auto num_classes = known_classes(config.data);
  if (!num_classes) return;
  for (auto& [line, text] : absent_classes(config.growth.aggregation.classes, *num_classes)) {
    out.push_back({at("growth.aggregation.classes", line), std::move(text), {"data.kind", "data.synthetic.classes"}});
  }
}

}  // namespace

void check_names(const RunConfig& config, Findings& out) {
  const Slots slots = slot_geometry(config.host, known_sample(config.data), config.growth.slots);
  check_all_slots(config, slots, out);
  check_modules("host.modules", config.host.modules, slots, out);
  check_modules("policy.schedule", config.policy.schedule, slots, out);
  check_widenings("host.modules", config.host.modules, config.host, out);
  check_widenings("policy.schedule", config.policy.schedule, config.host, out);
  check_blueprints(config.growth, slots, out);
  check_classes(config, out);
}

}  // namespace esper::config
