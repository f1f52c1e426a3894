#include "kasmina/slot/slot_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/statistics.h"
#include "base/text/json_fields.h"
#include "kasmina/seed/widening.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::kasmina {

using leyline::Stage;
using nlohmann::json;

namespace {

template <class E>
E read_name(const json& value) {
  const auto text = value.get<std::string>();
  const auto found = base::from_name<E>(text);
  if (!found) fail_saved_topology("\"" + text + "\"", "is not one of " + base::all_names<E>());
  return *found;
}

json alpha_to_json(const AlphaController& alpha) {
  return {{"mode", base::name_of(alpha.mode)},
          {"curve", base::name_of(alpha.curve)},
          {"start", alpha.start},
          {"target", alpha.target},
          {"value", alpha.value},
          {"ticks", alpha.ticks},
          {"total_ticks", alpha.total_ticks}};
}

AlphaController alpha_from_json(const json& saved) {
  AlphaController alpha;
  alpha.mode = read_name<AlphaMode>(saved.at("mode"));
  alpha.curve = read_name<config::AlphaCurve>(saved.at("curve"));
  alpha.start = saved.at("start").get<double>();
  alpha.target = saved.at("target").get<double>();
  alpha.value = saved.at("value").get<double>();
  alpha.ticks = base::whole_at<int>(saved, "ticks");
  alpha.total_ticks = base::whole_at<int>(saved, "total_ticks");
  for (const double value : {alpha.start, alpha.target, alpha.value}) {
    if (!(value >= 0 && value <= 1)) fail_saved_topology("alpha", "is outside 0..1");
  }
  const bool moves = alpha.mode != AlphaMode::kHold;
  if (alpha.ticks < 0 || (moves && alpha.ticks >= alpha.total_ticks))
    fail_saved_topology("alpha", "has impossible ticks");
  return alpha;
}

json worth_to_json(const leyline::SeedWorth& worth) {
  if (worth == leyline::SeedWorth{}) return nullptr;
  return {{"points", optional_number(worth.points)},
          {"points_stderr", optional_number(worth.points_stderr)},
          {"points_half_width", optional_number(worth.points_half_width)},
          {"loss", optional_number(worth.loss)},
          {"loss_stderr", optional_number(worth.loss_stderr)},
          {"loss_half_width", optional_number(worth.loss_half_width)},
          {"epochs", worth.epochs},
          {"horizon", worth.horizon},
          {"confounded", worth.confounded}};
}

leyline::SeedWorth worth_from_json(const json& saved) {
  if (saved.is_null()) return {};
  const auto number = [&](const char* name) { return base::optional_of<double>(saved.at(name)); };
  // Checkpoints of before half widths were recorded have the error only.
  const auto half_width = [&](const char* name, std::optional<double> standard_error) {
    if (saved.contains(name)) return number(name);
    return standard_error ? std::optional(base::kNormal95 * *standard_error) : std::nullopt;
  };
  return {number("points"),
          number("points_stderr"),
          half_width("points_half_width", number("points_stderr")),
          number("loss"),
          number("loss_stderr"),
          half_width("loss_half_width", number("loss_stderr")),
          base::whole_at<std::uint32_t>(saved, "epochs"),
          base::whole_at<std::uint32_t>(saved, "horizon"),
          saved.at("confounded").get<bool>()};
}

json record_to_json(const SeedRecord& record) {
  return {{"age_epochs", record.age_epochs},
          {"accuracy_at_stage_start", optional_number(record.accuracy_at_stage_start)},
          {"accuracy", optional_number(record.accuracy)},
          {"accuracy_without", optional_number(record.accuracy_without)},
          {"accuracy_at_full_alpha", optional_number(record.accuracy_at_full_alpha)},
          {"gradient_ratio", optional_number(record.gradient_ratio)},
          {"contribution_stderr_points", optional_number(record.seed_value.contribution_stderr_points)},
          {"shapley_points", optional_number(record.seed_value.shapley_points)},
          {"shapley_stderr_points", optional_number(record.seed_value.shapley_stderr_points)},
          {"contribution_half_width_points", optional_number(record.seed_value.contribution_half_width_points)},
          {"shapley_half_width_points", optional_number(record.seed_value.shapley_half_width_points)},
          {"worth", worth_to_json(record.worth)},
          {"gradient_norm", record.gradient_norm},
          {"learning_rate", record.learning_rate}};
}

SeedRecord record_from_json(const json& saved) {
  SeedRecord record;
  record.age_epochs = base::whole_at<std::uint32_t>(saved, "age_epochs");
  record.accuracy_at_stage_start = base::optional_of<double>(saved.at("accuracy_at_stage_start"));
  record.accuracy = base::optional_of<double>(saved.at("accuracy"));
  record.accuracy_without = base::optional_of<double>(saved.at("accuracy_without"));
  record.accuracy_at_full_alpha = base::optional_of<double>(saved.at("accuracy_at_full_alpha"));
  record.gradient_ratio = base::optional_of<double>(saved.at("gradient_ratio"));
  // Checkpoints of before this was measured do not have it.
  const auto later = [&](const char* name) { return base::optional_at<double>(saved, name); };
  record.seed_value = {later("contribution_stderr_points"), later("contribution_half_width_points"),
                       later("shapley_points"), later("shapley_stderr_points"), later("shapley_half_width_points")};
  record.worth = worth_from_json(saved.value("worth", json()));
  record.gradient_norm = saved.at("gradient_norm").get<double>();
  record.learning_rate = saved.at("learning_rate").get<double>();
  return record;
}

json schedule_to_json(const AlphaSchedule& schedule) {
  return {{"curve", base::name_of(schedule.curve)}, {"ticks", schedule.ticks}, {"target", schedule.target}};
}

AlphaSchedule schedule_from_json(const json& saved) {
  const AlphaSchedule schedule{read_name<config::AlphaCurve>(saved.at("curve")), base::whole_at<int>(saved, "ticks"),
                               saved.at("target").get<double>()};
  if (schedule.ticks < 1 || !(schedule.target > 0 && schedule.target <= 1))
    fail_saved_topology("schedule", "is out of range");
  return schedule;
}

json seed_to_json(const Seed& seed) {
  return {{"number", seed.number},
          {"blueprint", name_of(seed.kind)},
          {"composition", base::name_of(seed.composition)},
          {"schedule", schedule_to_json(seed.schedule)},
          {"training", base::name_of(seed.training)},
          {"training_epoch", seed.training_epoch},
          {"folded", seed.folded},
          {"alpha", alpha_to_json(seed.alpha)},
          {"record", record_to_json(seed.record)}};
}

struct SavedSeed {
  std::uint32_t number = 0;
  SeedKind kind;
  bool folded = false;
};

bool is_same(const std::optional<Seed>& present, const SavedSeed& saved) {
  return present && present->number == saved.number && present->kind == saved.kind && present->folded == saved.folded;
}

Seed seed_from_json(const json& saved, const SlotSource& source) {
  const auto kind = find_seed_kind(saved.at("blueprint").get<std::string>(), source.site.shape.kind);
  if (!kind) fail_saved_topology(source.site.id, kind.error());
  if (const auto fit = check_fit(*kind, source.site); !fit) fail_saved_topology(source.site.id, fit.error());
  if (read_name<config::Composition>(saved.at("composition")) != source.growth.composition) {
    fail_saved_topology(source.site.id, "growth.composition differs");
  }
  // Older checkpoints have neither a per-seed schedule nor folded seeds.
  const SavedSeed who{base::whole_at<std::uint32_t>(saved, "number"), *kind, saved.value("folded", false)};
  if (who.number == 0) fail_saved_topology(source.site.id, "a seed without a number");
  const auto schedule =
      saved.contains("schedule") ? schedule_from_json(saved["schedule"]) : schedule_at(source.site.id, source.growth);
  auto seed = is_same(source.present, who) ? *source.present
                                           : make_seed({who.number, who.kind, source.site, schedule}, source.growth,
                                                       source.run_seed, source.device);
  if (who.folded && !seed.folded) drop_tensors(seed);
  seed.schedule = schedule;
  // Older checkpoints have seeds of one kind only.
  seed.training = saved.contains("training") ? read_name<config::SeedTraining>(saved["training"])
                                             : config::SeedTraining::kStraightThrough;
  seed.training_epoch = base::value_at<std::uint32_t>(saved, "training_epoch");
  seed.alpha = alpha_from_json(saved.at("alpha"));
  seed.record = record_from_json(saved.at("record"));
  return seed;
}

}  // namespace

void fail_saved_topology(const std::string& where, const std::string& what) {
  throw base::Error(base::ExitCode::kCheckpoint, "the saved topology does not fit: " + where + ": " + what +
                                                     "; resume with the configuration that the run was started with");
}

json optional_number(std::optional<double> value) { return value ? json(*value) : json(nullptr); }

Stage stage_from_json(const json& saved, const std::string& slot) {
  const int stage = base::whole_of<int>(saved, "stage");
  if (stage < static_cast<int>(Stage::kDormant) || stage > static_cast<int>(Stage::kTerminated)) {
    fail_saved_topology(slot, fmt::format("there is no stage {}", stage));
  }
  return static_cast<Stage>(stage);
}

json slot_to_json(const Slot& slot) {
  return {{"id", slot.site.id},
          {"stage", static_cast<int>(slot.stage)},
          {"stage_epochs", slot.stage_epochs},
          {"seed", slot.seed ? seed_to_json(*slot.seed) : json(nullptr)}};
}

Slot slot_from_json(const json& saved, const SlotSource& source) {
  const auto& id = source.site.id;
  if (saved.at("id") != id) fail_saved_topology(id, "the host has another slot there");
  Slot slot;
  slot.site = source.site;
  slot.stage = stage_from_json(saved.at("stage"), id);
  slot.stage_epochs = base::whole_at<std::uint32_t>(saved, "stage_epochs");
  if (holds_seed(slot.stage) == saved.at("seed").is_null())
    fail_saved_topology(id, "its stage and its seed are inconsistent");
  if (holds_seed(slot.stage)) slot.seed = seed_from_json(saved.at("seed"), source);
  if (slot.seed) slot.seed->in_host = slot.stage == Stage::kFossilized && is_widening(*slot.seed);
  if (slot.seed && slot.seed->folded && slot.stage != Stage::kFossilized)
    fail_saved_topology(id, "only a fossil can be folded");
  return slot;
}

json full_alpha_to_json() { return alpha_to_json(hold_alpha(AlphaController().curve, 1)); }

json new_seed_to_json(std::uint32_t number, const std::string& blueprint, const config::GrowthConfig& growth) {
  // As make_seed() has it.
  const auto training = leyline::is_widening(blueprint) ? config::SeedTraining::kBlended : growth.training;
  return {{"number", number},
          {"blueprint", blueprint},
          {"composition", base::name_of(growth.composition)},
          {"training", base::name_of(training)},
          {"alpha", alpha_to_json({})},
          {"record", record_to_json({})}};
}

}  // namespace esper::kasmina
