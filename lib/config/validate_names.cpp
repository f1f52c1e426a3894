// Names in the run file that must exist: slots in the host, blueprints in the catalogue, classes in the data.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/rules.h"
#include "config/slot_alpha.h"
#include "config/slot_classes.h"
#include "config/slot_shapes.h"
#include "leyline/blueprint_table.h"

namespace esper::config {

using base::in_quotes;
using base::name_of;
using base::nearest;
using leyline::BlueprintEntry;
using leyline::FeatureKind;
using leyline::find_blueprint_entry;
using leyline::is_blueprint;
using leyline::kBlueprintTable;
using leyline::may_fit;
using leyline::SlotShape;

namespace {

using SlotShapes = std::vector<SlotShape>;

// What the number and the shapes of a host's slots follow from.
const std::vector<std::string>& host_fields() {
  static const std::vector<std::string> fields{"host.kind",     "host.hidden",        "host.blocks",
                                               "host.segments", "host.base_channels", "host.embedding"};
  return fields;
}

std::string at(const std::string& list, std::size_t i) { return list + "[" + std::to_string(i) + "]"; }

std::string slot_name(std::size_t column) { return "r0c" + std::to_string(column); }

// Null where there is no such slot.
const SlotShape* find_slot(const SlotShapes& slots, std::string_view name) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slot_name(i) == name) return &slots[i];
  }
  return nullptr;
}

// names: by their place in the list of that path; empty where the text was no slot.
void check_slots(const std::string& path, const std::vector<std::string>& names, const SlotShapes& slots,
                 Findings& out) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() || find_slot(slots, names[i]) != nullptr) continue;
    out.push_back({at(path, i),
                   "this host has no slot " + in_quotes(names[i]) + "; it has " +
                       (slots.empty() ? "none" : "r0c0 to " + slot_name(slots.size() - 1)),
                   host_fields()});
  }
}

struct Module {
  std::string slot, blueprint;  // empty where the text is no module
};

std::vector<Module> modules_of(const HostConfig& host) {
  std::vector<Module> modules;
  for (const std::string& text : host.modules) {
    const std::size_t equals = text.find('=');
    const bool whole = equals != std::string::npos && is_slot_id(text.substr(0, equals));
    modules.push_back(whole ? Module{text.substr(0, equals), text.substr(equals + 1)} : Module{});
  }
  return modules;
}

void check_all_slots(const RunConfig& config, const SlotShapes& slots, Findings& out) {
  std::vector<std::string> named, built_in, blended, answering;
  for (const std::string& slot : config.growth.slots) named.push_back(is_slot_id(slot) ? slot : "");
  for (const Module& module : modules_of(config.host)) built_in.push_back(module.slot);
  for (const std::string& line : config.growth.slot_alpha) {
    const auto read = read_slot_alpha(line);
    blended.push_back(read && is_slot_id(read->slot) ? read->slot : "");
  }
  for (const std::string& line : config.growth.aggregation.classes) {
    const auto read = read_slot_classes(line);
    answering.push_back(read ? read->slot : "");
  }
  check_slots("growth.slots", named, slots, out);
  check_slots("host.modules", built_in, slots, out);
  check_slots("growth.slot_alpha", blended, slots, out);
  check_slots("growth.aggregation.classes", answering, slots, out);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// What can be grown at such slots, or at any where there is none.
std::vector<std::string> known_at(const SlotShapes& slots) {
  std::vector<std::string> known;
  for (const BlueprintEntry& entry : kBlueprintTable) {
    const bool fits =
        slots.empty() || std::ranges::any_of(slots, [&](const SlotShape& slot) { return may_fit(entry, slot); });
    if (fits && std::ranges::find(known, entry.name) == known.end()) known.emplace_back(entry.name);
  }
  return known;
}

std::string unknown_blueprint(const std::string& name, const SlotShapes& slots) {
  const auto known = known_at(slots);
  const auto close = nearest(name, known);
  return "no blueprint is called " + in_quotes(name) + (close ? "; did you mean " + *close + "?" : ";") +
         (slots.empty() ? " Known are " : " This host can grow ") + joined(known);
}

// Why it does not fit; empty if it may.
std::string misfit(const Module& module, const SlotShape& slot) {
  const BlueprintEntry* entry = find_blueprint_entry(module.blueprint, slot.kind);
  if (entry != nullptr && may_fit(*entry, slot)) return {};
  std::string text =
      module.blueprint + " does not fit " + module.slot + ", a feature of kind " + std::string(name_of(slot.kind));
  if (entry != nullptr) {
    text += " with " + std::to_string(slot.channels) + " channels";
    if (slot.positions && slot.kind != FeatureKind::kFeatures) {
      text += " at " + std::to_string(*slot.positions) + " positions";
    }
  }
  return text + "; what does: " + joined(known_at({slot}));
}

void check_modules(const HostConfig& host, const SlotShapes& slots, Findings& out) {
  const auto modules = modules_of(host);
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const Module& module = modules[i];
    const SlotShape* slot = find_slot(slots, module.slot);
    if (module.blueprint.empty()) continue;
    if (!is_blueprint(module.blueprint)) {
      out.push_back({at("host.modules", i),
                     unknown_blueprint(module.blueprint, slot == nullptr ? slots : SlotShapes{*slot}),
                     {}});
    } else if (slot != nullptr) {
      const auto why = misfit(module, *slot);
      if (!why.empty()) out.push_back({at("host.modules", i), why, host_fields()});
    }
  }
}

// Those that growth.slots does not leave out.
SlotShapes growing_slots(const GrowthConfig& growth, const SlotShapes& slots) {
  if (growth.slots.empty()) return slots;
  SlotShapes growing;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (std::ranges::find(growth.slots, slot_name(i)) != growth.slots.end()) growing.push_back(slots[i]);
  }
  return growing;
}

// Names that fit other hosts are no mistake, as long as one of the list fits a slot that may grow here.
void check_blueprints(const GrowthConfig& growth, const SlotShapes& all_slots, Findings& out) {
  const SlotShapes slots = growing_slots(growth, all_slots);
  bool all_known = true, any_fits = false;
  for (std::size_t i = 0; i < growth.blueprints.size(); ++i) {
    const std::string& name = growth.blueprints[i];
    if (!is_blueprint(name)) {
      all_known = false;
      out.push_back({at("growth.blueprints", i), unknown_blueprint(name, slots.empty() ? all_slots : slots), {}});
    }
    any_fits |= std::ranges::any_of(slots, [&](const SlotShape& slot) {
      const BlueprintEntry* entry = find_blueprint_entry(name, slot.kind);
      return entry != nullptr && may_fit(*entry, slot);
    });
  }
  const bool can_grow = growth.enabled && !slots.empty() && !growth.blueprints.empty();
  if (!can_grow || !all_known || any_fits) return;
  auto looked_at = host_fields();
  looked_at.insert(looked_at.begin(), "growth.slots");
  out.push_back({"growth.blueprints",
                 "none of " + joined(growth.blueprints) + " fits a slot " +
                     (growth.slots.empty() ? "of this host" : "that growth.slots names") +
                     "; what does: " + joined(known_at(slots)),
                 looked_at});
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
  const SlotShapes slots = slot_shapes(config);
  check_all_slots(config, slots, out);
  check_modules(config.host, slots, out);
  check_blueprints(config.growth, slots, out);
  check_classes(config, out);
}

}  // namespace esper::config
