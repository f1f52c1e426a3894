#include "kasmina/topology.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "kasmina/network.h"
#include "leyline/error.h"
#include "leyline/names.h"

namespace esper::kasmina {

using leyline::Stage;
using nlohmann::json;

namespace {

constexpr int kFormat = 1;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw leyline::Error(leyline::ExitCode::kCheckpoint,
                       "the saved topology does not fit: " + where + ": " + what +
                           "; resume with the configuration that the run was started with");
}

json optional_number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

std::optional<double> read_optional(const json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

template <class E>
E read_name(const json& value) {
  const auto text = value.get<std::string>();
  const auto found = leyline::from_name<E>(text);
  if (!found) fail("\"" + text + "\"", "is none of " + leyline::all_names<E>());
  return *found;
}

json alpha_to_json(const AlphaController& alpha) {
  return {{"mode", leyline::name_of(alpha.mode)},
          {"curve", leyline::name_of(alpha.curve)},
          {"start", alpha.start},
          {"target", alpha.target},
          {"value", alpha.value},
          {"ticks", alpha.ticks},
          {"total_ticks", alpha.total_ticks}};
}

AlphaController alpha_from_json(const json& saved) {
  AlphaController alpha;
  alpha.mode = read_name<AlphaMode>(saved.at("mode"));
  alpha.curve = read_name<leyline::AlphaCurve>(saved.at("curve"));
  alpha.start = saved.at("start").get<double>();
  alpha.target = saved.at("target").get<double>();
  alpha.value = saved.at("value").get<double>();
  alpha.ticks = saved.at("ticks").get<int>();
  alpha.total_ticks = saved.at("total_ticks").get<int>();
  for (const double value : {alpha.start, alpha.target, alpha.value}) {
    if (!(value >= 0 && value <= 1)) fail("alpha", "is outside 0..1");
  }
  const bool moves = alpha.mode != AlphaMode::kHold;
  if (alpha.ticks < 0 || (moves && alpha.ticks >= alpha.total_ticks)) fail("alpha", "has impossible ticks");
  return alpha;
}

json record_to_json(const SeedRecord& record) {
  return {{"age_epochs", record.age_epochs},
          {"accuracy_at_stage_start", optional_number(record.accuracy_at_stage_start)},
          {"accuracy", optional_number(record.accuracy)},
          {"accuracy_without", optional_number(record.accuracy_without)},
          {"accuracy_at_full_alpha", optional_number(record.accuracy_at_full_alpha)},
          {"gradient_ratio", optional_number(record.gradient_ratio)},
          {"contribution_stderr_points", optional_number(record.worth.contribution_stderr_points)},
          {"shapley_points", optional_number(record.worth.shapley_points)},
          {"shapley_stderr_points", optional_number(record.worth.shapley_stderr_points)},
          {"gradient_norm", record.gradient_norm},
          {"learning_rate", record.learning_rate}};
}

SeedRecord record_from_json(const json& saved) {
  SeedRecord record;
  record.age_epochs = saved.at("age_epochs").get<std::uint32_t>();
  record.accuracy_at_stage_start = read_optional(saved.at("accuracy_at_stage_start"));
  record.accuracy = read_optional(saved.at("accuracy"));
  record.accuracy_without = read_optional(saved.at("accuracy_without"));
  record.accuracy_at_full_alpha = read_optional(saved.at("accuracy_at_full_alpha"));
  record.gradient_ratio = read_optional(saved.at("gradient_ratio"));
  // Checkpoints of before this was measured do not have it.
  const auto later = [&](const char* name) { return read_optional(saved.value(name, json())); };
  record.worth = {later("contribution_stderr_points"), later("shapley_points"), later("shapley_stderr_points")};
  record.gradient_norm = saved.at("gradient_norm").get<double>();
  record.learning_rate = saved.at("learning_rate").get<double>();
  return record;
}

json schedule_to_json(const AlphaSchedule& schedule) {
  return {{"curve", leyline::name_of(schedule.curve)}, {"ticks", schedule.ticks}, {"target", schedule.target}};
}

AlphaSchedule schedule_from_json(const json& saved) {
  const AlphaSchedule schedule{read_name<leyline::AlphaCurve>(saved.at("curve")), saved.at("ticks").get<int>(),
                               saved.at("target").get<double>()};
  if (schedule.ticks < 1 || !(schedule.target > 0 && schedule.target <= 1)) fail("schedule", "is out of range");
  return schedule;
}

json seed_to_json(const Seed& seed) {
  return {{"number", seed.number},
          {"blueprint", seed.blueprint->name},
          {"composition", leyline::name_of(seed.composition)},
          {"schedule", schedule_to_json(seed.schedule)},
          {"folded", seed.folded},
          {"alpha", alpha_to_json(seed.alpha)},
          {"record", record_to_json(seed.record)}};
}

struct SavedSeed {
  std::uint32_t number = 0;
  const Blueprint* blueprint = nullptr;
  bool folded = false;
};

bool is_same(const std::optional<Seed>& present, const SavedSeed& saved) {
  return present && present->number == saved.number && present->blueprint == saved.blueprint &&
         present->folded == saved.folded;
}

Seed seed_from_json(const json& saved, const SlotSource& source) {
  const auto name = saved.at("blueprint").get<std::string>();
  const auto* blueprint = find_blueprint(name, source.site.shape.kind);
  if (!blueprint) fail(source.site.id, "no blueprint \"" + name + "\" fits there");
  if (const auto misfit = refusal(*blueprint, source.site.shape); !misfit.empty()) fail(source.site.id, misfit);
  if (read_name<leyline::Composition>(saved.at("composition")) != source.growth.composition) {
    fail(source.site.id, "growth.composition differs");
  }
  // Older checkpoints have neither a schedule of the seed's own nor folded seeds.
  const SavedSeed who{saved.at("number").get<std::uint32_t>(), blueprint, saved.value("folded", false)};
  if (who.number == 0) fail(source.site.id, "a seed without a number");
  const auto schedule =
      saved.contains("schedule") ? schedule_from_json(saved["schedule"]) : schedule_at(source.site.id, source.growth);
  auto seed = is_same(source.present, who) ? *source.present
                                           : make_seed({who.number, blueprint, source.site.shape, schedule},
                                                       source.growth, source.run_seed, source.device);
  if (who.folded && !seed.folded) drop_tensors(seed);
  seed.schedule = schedule;
  seed.alpha = alpha_from_json(saved.at("alpha"));
  seed.record = record_from_json(saved.at("record"));
  return seed;
}

Stage stage_from_json(const json& saved, const std::string& slot) {
  const auto stage = saved.get<int>();
  if (stage < static_cast<int>(Stage::kDormant) || stage > static_cast<int>(Stage::kTerminated)) {
    fail(slot, "there is no stage " + std::to_string(stage));
  }
  return static_cast<Stage>(stage);
}

}  // namespace

json slot_to_json(const Slot& slot) {
  return {{"id", slot.site.id},
          {"stage", static_cast<int>(slot.stage)},
          {"stage_epochs", slot.stage_epochs},
          {"seed", slot.seed ? seed_to_json(*slot.seed) : json(nullptr)}};
}

Slot slot_from_json(const json& saved, const SlotSource& source) {
  const auto& id = source.site.id;
  if (saved.at("id") != id) fail(id, "the host has another slot there");
  Slot slot;
  slot.site = source.site;
  slot.stage = stage_from_json(saved.at("stage"), id);
  slot.stage_epochs = saved.at("stage_epochs").get<std::uint32_t>();
  if (holds_seed(slot.stage) == saved.at("seed").is_null()) fail(id, "its stage and its seed contradict each other");
  if (holds_seed(slot.stage)) slot.seed = seed_from_json(saved.at("seed"), source);
  if (slot.seed && slot.seed->folded && slot.stage != Stage::kFossilized) fail(id, "only a fossil can be folded");
  return slot;
}

leyline::Topology topology_of(const json& saved) {
  leyline::Topology topology;
  try {
    topology.seeds_born = saved.at("seeds_born").get<std::uint32_t>();
    for (const auto& slot : saved.at("slots")) {
      const auto id = slot.at("id").get<std::string>();
      leyline::SlotTopology place{id, stage_from_json(slot.at("stage"), id), {}, {}};
      if (const auto& seed = slot.at("seed"); !seed.is_null()) {
        place.seed_id = seed_name(seed.at("number").get<std::uint32_t>());
        place.blueprint = seed.at("blueprint").get<std::string>();
        place.folded = seed.value("folded", false);
      }
      topology.slots.push_back(std::move(place));
    }
  } catch (const json::exception& error) {
    fail("its JSON", error.what());
  }
  return topology;
}

namespace {

json& place_of(json& saved, const std::string& seed_id) {
  const auto topology = topology_of(saved);
  std::string known;
  for (std::size_t i = 0; i < topology.slots.size(); ++i) {
    const auto& slot = topology.slots[i];
    if (slot.seed_id.empty()) continue;
    known += (known.empty() ? "" : ", ") + slot.seed_id;
    if (slot.seed_id == seed_id) return saved.at("slots").at(i);
  }
  throw leyline::Error(leyline::ExitCode::kConfig, "there is no seed \"" + seed_id + "\" at this step; there " +
                                                       (known.empty() ? "are none" : "are: " + known));
}

}  // namespace

json without_seed(json saved, const std::string& seed_id, const leyline::GrowthConfig& growth) {
  auto& place = place_of(saved, seed_id);
  if (place.at("seed").value("folded", false)) {
    throw leyline::Error(
        leyline::ExitCode::kConfig,
        seed_id + " was folded into the host and cannot be left out any more; take a step before it fossilised");
  }
  place["stage"] = static_cast<int>(first_stage(place.at("id").get<std::string>(), growth));
  place["stage_epochs"] = 0;
  place["seed"] = nullptr;
  return saved;
}

json with_fossil(json saved, const std::string& seed_id) {
  auto& place = place_of(saved, seed_id);
  place["stage"] = static_cast<int>(Stage::kFossilized);
  place["stage_epochs"] = 0;
  return saved;
}

json with_seed(json saved, const std::string& slot, const std::string& blueprint, const leyline::GrowthConfig& growth) {
  for (auto& place : saved.at("slots")) {
    if (place.at("id") != slot) continue;
    const auto number = saved.at("seeds_born").get<std::uint32_t>() + 1;
    saved["seeds_born"] = number;
    place["stage"] = static_cast<int>(Stage::kGerminated);
    place["stage_epochs"] = 0;
    place["seed"] = {{"number", number},
                     {"blueprint", blueprint},
                     {"composition", leyline::name_of(growth.composition)},
                     {"alpha", alpha_to_json({})},
                     {"record", record_to_json({})}};
    return saved;
  }
  throw leyline::Error(leyline::ExitCode::kConfig, "there is no slot \"" + slot + "\"");
}

json Network::save_topology() const {
  json slots = json::array();
  for (const auto& slot : slots_) slots.push_back(slot_to_json(slot));
  return {{"format", kFormat},
          {"slots", std::move(slots)},
          {"seeds_born", seeds_born_},
          {"epoch", epoch_},
          {"accuracy", optional_number(accuracy_)},
          {"command_ids", command_ids_}};
}

void Network::restore_topology(const json& saved) {
  std::vector<Slot> slots;
  std::set<std::uint32_t> numbers;
  try {
    if (saved.at("format") != kFormat) fail("format", "written by another version");
    if (saved.at("slots").size() != slots_.size()) fail("slots", "the host has another number of slots");
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots.push_back(
          slot_from_json(saved.at("slots")[i], {slots_[i].site, slots_[i].seed, growth_, run_seed_, device_}));
    }
    const auto born = saved.at("seeds_born").get<std::uint32_t>();
    for (const auto& slot : slots) {
      if (!slot.seed) continue;
      if (slot.seed->number > born) fail(slot.site.id, "its seed is younger than the youngest");
      if (!numbers.insert(slot.seed->number).second) fail(slot.site.id, "its seed is at another slot as well");
    }
    const auto epoch = saved.at("epoch").get<std::uint32_t>();
    const auto accuracy = read_optional(saved.at("accuracy"));
    auto command_ids = saved.at("command_ids").get<std::deque<std::string>>();
    seeds_born_ = born;
    epoch_ = epoch;
    accuracy_ = accuracy;
    command_ids_ = std::move(command_ids);
  } catch (const json::exception& error) {
    fail("its JSON", error.what());
  }
  slots_ = std::move(slots);
  for (auto& slot : slots_) {
    if (slot.seed) refresh_scalars(slot);
  }
  rebuild_ownership();
  ++structure_version_;
}

}  // namespace esper::kasmina
