// The rules between the fields of growth.
#include <fmt/core.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "base/text/printable.h"
#include "config/growth_config.h"
#include "config/rules/rules.h"

namespace esper::config {

using base::Duration;
using base::in_quotes;

namespace {

// Empty values were reported already.
void check_unique(const std::vector<std::string>& list, const std::string& path, Findings& out) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_new = list[i].empty() || seen.insert(list[i]).second;
    if (!is_new) out.push_back({fmt::format("{}[{}]", path, i), in_quotes(list[i]) + " is listed twice", {}});
  }
}

void check_classes(const AggregationConfig& aggregation, Findings& out) {
  const bool by_class = aggregation.attribution == Attribution::kDataloader;
  if (by_class && aggregation.classes.empty()) {
    out.push_back({"aggregation.classes",
                   "is empty, but attribution dataloader needs slots and classes, like r0c0=0,1,2",
                   {"aggregation.attribution"}});
  }
  std::vector<std::string> slots;
  std::map<std::int64_t, std::string> taken;
  for (std::size_t i = 0; i < aggregation.classes.size(); ++i) {
    const std::string path = fmt::format("aggregation.classes[{}]", i);
    const auto& read = aggregation.classes[i];
    slots.push_back(read ? read->slot : "");
    if (!read) {
      out.push_back({path, read.problem(), {}});
      continue;
    }
    std::set<std::int64_t> seen;
    for (const std::int64_t one : read->classes) {
      if (!seen.insert(one).second) continue;
      const auto [other, is_new] = taken.emplace(one, read->slot);
      if (is_new || other->second == read->slot) continue;
      out.push_back({path, fmt::format("class {} is given to {} already", one, other->second), {}});
    }
  }
  check_unique(slots, "aggregation.classes", out);
}

void check_slot_alpha(const std::vector<Entry<SlotAlpha>>& list, Findings& out) {
  std::vector<std::string> slots;
  for (std::size_t i = 0; i < list.size(); ++i) {
    slots.push_back(list[i] ? list[i]->slot : "");
    if (!list[i]) out.push_back({fmt::format("slot_alpha[{}]", i), list[i].problem(), {}});
  }
  check_unique(slots, "slot_alpha", out);
}

}  // namespace

void GrowthConfig::validate(Findings& out) const {
  check_unique(slots, "slots", out);
  check_classes(aggregation, out);
  check_unique(blueprints, "blueprints", out);
  check_slot_alpha(slot_alpha, out);
}

void check_control_budget(const RunConfig& config, Findings& out) {
  const auto& growth = config.growth;
  const bool grows = growth.enabled && config.policy.kind != PolicyKind::kNone;
  constexpr double kRounding = 1e-9, kSteps = 1e4;
  const bool holds_an_epoch = growth.control.budget * config.epochs + kRounding >= 1;
  if (!grows || growth.gates.evidence != Evidence::kControl || holds_an_epoch) return;
  out.push_back({"growth.control.budget",
                 fmt::format("{:g} of {} epochs is less than one epoch, so that no seed can have a control and none "
                             "germinates; set at least {:g}, or another growth.gates.evidence",
                             growth.control.budget, config.epochs, std::ceil(kSteps / config.epochs) / kSteps),
                 {"growth.gates.evidence", "epochs"}});
}

void CounterfactualConfig::validate(Findings& out) const {
  if (deadline <= Duration(0)) out.push_back({"deadline", "must be > 0", {}});
}

}  // namespace esper::config
