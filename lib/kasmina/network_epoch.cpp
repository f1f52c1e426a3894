#include "kasmina/network_epoch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/quantity.h"
#include "kasmina/command/removal.h"
#include "kasmina/network/network_frozen.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/network/network_tensors.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

using Kind = LifecycleEvent::Kind;

// A value that is not a fraction of samples was not measured.
std::optional<double> if_accuracy(std::optional<double> value) {
  return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

// Consumers read it as a float.
double if_float_or_zero(double value) { return std::abs(value) <= std::numeric_limits<float>::max() ? value : 0; }

std::string epochs_text(int count) { return to_string(base::Length{count, base::Length::Unit::kEpochs}); }

LifecycleEvent violation(const Slot& slot) {
  LifecycleEvent event;
  event.kind = Kind::kViolation;
  event.seed_id = slot.seed->id;
  event.slot = slot.site.id;
  event.blueprint = name_of(slot.seed->kind);
  event.from = event.to = slot.stage;
  event.values = {{"violations", slot.seed->record.isolation_violations}};
  event.reason = "isolation violated: its gradient reached the host";
  event.passed = false;
  return event;
}

// An epoch's measurements besides the seed's own.
struct Surroundings {
  std::optional<double> accuracy;
  std::int64_t host_parameters = 0;
};

void take_measurements(Slot& slot, const EpochFacts& facts, const Surroundings& around) {
  auto& seed = *slot.seed;
  auto& record = seed.record;
  SeedFacts own;
  for (const auto& candidate : facts.seeds) {
    if (candidate.seed_id == seed.id) own = candidate;
  }
  // A fossil keeps its last contribution: it is not turned off again to measure it.
  if (is_growing(slot.stage)) record.accuracy = around.accuracy;
  // A seed that was germinated before the first epoch counts from that epoch's end.
  if (!record.accuracy_at_stage_start) record.accuracy_at_stage_start = around.accuracy;
  record.gradient_norm = if_float_or_zero(own.gradient_norm);
  record.isolation_violations = is_growing(slot.stage) ? if_float_or_zero(own.isolation_violations) : 0;
  record.learning_rate = if_float_or_zero(own.learning_rate.value_or(facts.learning_rate));
  if (is_growing(slot.stage)) {
    record.accuracy_without = if_accuracy(own.accuracy_without);
    record.accuracy_at_full_alpha = if_accuracy(own.accuracy_at_full_alpha);
    const auto seed_value = facts.seed_value.find(seed.id);
    record.seed_value = seed_value == facts.seed_value.end() ? SeedValue{} : seed_value->second;
    if (own.worth) record.worth = *own.worth;
  }
  // At alpha 1 the running network is the network at full alpha.
  if (slot.stage == Stage::kShadowing && seed.alpha.value == 1) record.accuracy_at_full_alpha = around.accuracy;
  if (is_growing(slot.stage) && slot.stage >= Stage::kTraining) {
    const auto ratio = gradient_ratio(
        {own.gradient_norm, facts.host_gradient_norm, seed.module.tensors.num_parameters(), around.host_parameters});
    if (ratio) record.gradient_ratio = smoothed_ratio(record.gradient_ratio, *ratio);
  }
}

// An epoch that was undone did not happen for the seeds that go on growing: no gate counts it, and no alpha moves.
void take_in(Slot& slot, const EpochFacts& facts, const Surroundings& around) {
  auto& record = slot.seed->record;
  ++record.age_epochs;
  if (!facts.undone.empty() && is_growing(slot.stage)) {
    record.isolation_violations = 0;
    return;
  }
  ++slot.stage_epochs;
  take_measurements(slot, facts, around);
  tick(slot.seed->alpha);
}

// The epoch in which the slot was CULLED is the first of its embargo.
std::vector<LifecycleEvent> rest(Slot& slot, const config::GrowthConfig& growth) {
  std::vector<LifecycleEvent> events;
  const auto move = [&](Stage to, const std::string& reason) {
    LifecycleEvent event;
    event.slot = slot.site.id;
    event.from = slot.stage;
    event.to = to;
    event.reason = reason;
    move_slot(slot, to, std::nullopt);
    events.push_back(event);
  };
  ++slot.stage_epochs;
  const auto dwelt = [&](int epochs) { return slot.stage_epochs >= static_cast<std::uint32_t>(epochs); };
  if (slot.stage == Stage::kCulled) {
    move(Stage::kEmbargoed, "rests for " + epochs_text(growth.embargo_epochs));
    slot.stage_epochs = 1;
  }
  if (slot.stage == Stage::kEmbargoed && dwelt(growth.embargo_epochs)) {
    move(Stage::kResetting, "the embargo of " + epochs_text(growth.embargo_epochs) + " is over");
  } else if (slot.stage == Stage::kResetting && dwelt(growth.reset_epochs)) {
    move(Stage::kDormant, "free again");
  }
  return events;
}

// One device read for all seeds.
std::vector<bool> broken_seeds(const std::vector<Slot>& slots) {
  std::vector<bool> broken(slots.size(), false);
  std::vector<torch::Tensor> sound;
  std::vector<std::size_t> places;
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!is_growing(slots[i].stage)) continue;
    const auto& tensors = slots[i].seed->module.tensors;
    for (const auto* table : {&tensors.parameters, &tensors.buffers}) {
      for (const auto& named : *table) {
        sound.push_back(at::isfinite(named.tensor).all());
        places.push_back(i);
      }
    }
  }
  if (sound.empty()) return broken;
  const auto read = at::stack(sound).cpu();
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!read.const_data_ptr<bool>()[i]) broken[places[i]] = true;
  }
  return broken;
}

struct Faults {
  bool is_broken = false;  // holds numbers that are not finite
  std::string undone;      // the epoch is undone for it
};

std::vector<LifecycleEvent> close_epoch(NetworkState& network, Slot& slot, const Faults& faults) {
  std::vector<LifecycleEvent> events;
  const bool violates = slot.seed->record.isolation_violations > 0;
  if (violates) events.push_back(violation(slot));
  std::string reason;
  if (faults.is_broken) {
    reason = "its tensors hold NaN or infinity";
  } else if (!faults.undone.empty()) {
    reason = faults.undone;
  } else if (violates && network.growth.isolation.strict) {
    reason = "isolation violated: its gradient reached the host";
  } else if (is_leaving(slot) && slot.seed->alpha.mode == AlphaMode::kHold) {
    reason = "blended out";
  }
  if (reason.empty()) {
    refresh_scalars(slot, network.growth);
    return events;
  }
  const auto culled = cull(network, slot, reason, "");
  events.insert(events.end(), culled.begin(), culled.end());
  return events;
}

}  // namespace

EndedEpoch end_epoch(NetworkState& network, const EpochFacts& facts) {
  ESPER_CHECK(facts.epoch > network.epoch, fmt::format("epochs must ascend: {} after {}", facts.epoch, network.epoch));
  const auto host_parameters = num_learning_host_parameters(network);  // in the epoch; its end may unfreeze others
  network.epoch = facts.epoch;
  network.accuracy = if_accuracy(facts.validation_accuracy);
  const auto broken = broken_seeds(network.structure.slots);
  auto& slots = network.structure.slots;
  for (auto& slot : slots) {
    if (slot.seed) take_in(slot, facts, {network.accuracy, host_parameters});
  }
  EndedEpoch ended{{}, export_growing_seed_states(network)};
  for (std::size_t i = 0; i < slots.size(); ++i) {
    auto& slot = slots[i];
    const bool is_blamed = slot.seed && std::ranges::count(facts.undone_seeds, slot.seed->id) > 0;
    const Faults faults{broken[i], is_blamed ? facts.undone : ""};
    const auto happened = slot.seed ? close_epoch(network, slot, faults) : rest(slot, network.growth);
    ended.events.insert(ended.events.end(), happened.begin(), happened.end());
  }
  if (refresh_frozen(network)) ++network.structure_version;
  return ended;
}

}  // namespace esper::kasmina
