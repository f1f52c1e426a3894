#include "tamiyo/heuristic_state.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_fields.h"

namespace esper::tamiyo {

using base::optional_of;
using nlohmann::json;

namespace {

constexpr int kFormat = 1;

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json watch_to_json(const SeedWatch& watch) {
  return {{"slot", watch.slot},
          {"blueprint", watch.blueprint},
          {"stage", base::name_of(watch.stage)},
          {"best_points", optional_json(watch.best_points)},
          {"stale_epochs", watch.stale_epochs},
          {"refusals", watch.refusals},
          {"next_ask_epoch", watch.next_ask_epoch}};
}

[[noreturn]] void fail(const std::string& what) {
  throw base::Error(base::ExitCode::kCheckpoint, "the saved state of the heuristic policy is unusable: " + what);
}

SeedWatch watch_from_json(const json& saved) {
  SeedWatch watch;
  watch.slot = saved.at("slot").get<std::string>();
  watch.blueprint = saved.at("blueprint").get<std::string>();
  const auto stage = base::from_name<leyline::Stage>(saved.at("stage").get<std::string>());
  if (!stage) fail("unknown stage " + saved.at("stage").dump());
  watch.stage = *stage;
  watch.best_points = optional_of<double>(saved.at("best_points"));
  watch.stale_epochs = saved.at("stale_epochs").get<std::uint32_t>();
  watch.refusals = saved.at("refusals").get<std::uint32_t>();
  watch.next_ask_epoch = saved.at("next_ask_epoch").get<std::uint32_t>();
  return watch;
}

HeuristicState read(const json& saved) {
  if (saved.at("format") != kFormat) fail("written by another version");
  HeuristicState state;
  state.last_epoch = saved.at("last_epoch").get<std::uint32_t>();
  state.progress_accuracy = optional_of<double>(saved.at("progress_accuracy"));
  state.epochs_without_progress = saved.at("epochs_without_progress").get<std::uint32_t>();
  // Earlier versions compared with the epoch before: its loss is the best that they recorded.
  state.best_loss = optional_of<double>(saved.contains("best_loss") ? saved["best_loss"] : saved.at("last_loss"));
  state.calm_epochs = saved.at("calm_epochs").get<std::uint32_t>();
  state.host_stable = saved.at("host_stable").get<bool>();
  state.last_prune_epoch = optional_of<std::uint32_t>(saved.at("last_prune_epoch"));
  state.germinations = saved.at("germinations").get<std::uint32_t>();
  if (const auto& asked = saved.at("asked_germination"); !asked.is_null()) {
    state.asked_germination = {asked.at("slot").get<std::string>(), asked.at("blueprint").get<std::string>()};
  }
  state.penalties = saved.at("penalties").get<std::map<std::string, double>>();
  state.prunes = saved.at("prunes").get<std::map<std::string, std::uint32_t>>();
  for (const auto& [id, watch] : saved.at("seeds").items()) state.seeds[id] = watch_from_json(watch);
  return state;
}

}  // namespace

std::string to_json(const HeuristicState& state) {
  json seeds = json::object();
  for (const auto& [id, watch] : state.seeds) seeds[id] = watch_to_json(watch);
  json asked = nullptr;
  if (state.asked_germination) {
    asked = {{"slot", state.asked_germination->slot}, {"blueprint", state.asked_germination->blueprint}};
  }
  return json{{"format", kFormat},
              {"last_epoch", state.last_epoch},
              {"progress_accuracy", optional_json(state.progress_accuracy)},
              {"epochs_without_progress", state.epochs_without_progress},
              {"best_loss", optional_json(state.best_loss)},
              {"calm_epochs", state.calm_epochs},
              {"host_stable", state.host_stable},
              {"last_prune_epoch", optional_json(state.last_prune_epoch)},
              {"germinations", state.germinations},
              {"asked_germination", std::move(asked)},
              {"penalties", state.penalties},
              {"prunes", state.prunes},
              {"seeds", std::move(seeds)}}
      .dump();
}

HeuristicState state_from_json(const std::string& text) {
  try {
    return read(json::parse(text));
  } catch (const json::exception& error) {
    fail(error.what());
  }
}

void forget_seed(HeuristicState& state, const std::string& seed_id, const std::string& slot) {
  state.seeds.erase(seed_id);
  if (state.asked_germination && state.asked_germination->slot == slot) state.asked_germination.reset();
}

}  // namespace esper::tamiyo
