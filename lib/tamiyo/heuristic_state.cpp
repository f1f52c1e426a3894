#include "tamiyo/heuristic_state.h"

#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"

namespace esper::tamiyo {

using base::optional_of;
using nlohmann::json;

namespace {

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

}  // namespace

json heuristic_json(const HeuristicState& state) {
  return {{"progress_accuracy", optional_json(state.progress_accuracy)},
          {"epochs_without_progress", state.epochs_without_progress},
          {"best_loss", optional_json(state.best_loss)},
          {"losses", state.losses},
          {"accuracies", state.accuracies},
          {"calm_epochs", state.calm_epochs},
          {"host_stable", state.host_stable},
          {"last_prune_epoch", optional_json(state.last_prune_epoch)},
          {"germinations", state.germinations},
          {"penalties", state.penalties},
          {"prunes", state.prunes}};
}

HeuristicState read_heuristic(const json& saved) {
  HeuristicState state;
  state.progress_accuracy = optional_of<double>(saved.at("progress_accuracy"));
  state.epochs_without_progress = base::whole_at<std::uint32_t>(saved, "epochs_without_progress");
  // Earlier versions compared with the epoch before: its loss is the best that they recorded.
  state.best_loss = optional_of<double>(saved.contains("best_loss") ? saved["best_loss"] : saved.at("last_loss"));
  state.losses = saved.value("losses", state.losses);
  state.accuracies = saved.value("accuracies", state.accuracies);
  state.calm_epochs = base::whole_at<std::uint32_t>(saved, "calm_epochs");
  state.host_stable = saved.at("host_stable").get<bool>();
  state.last_prune_epoch = optional_of<std::uint32_t>(saved.at("last_prune_epoch"), "last_prune_epoch");
  state.germinations = base::whole_at<std::uint32_t>(saved, "germinations");
  state.penalties = saved.at("penalties").get<std::map<std::string, double>>();
  for (const auto& [slot, count] : saved.at("prunes").get_ref<const json::object_t&>()) {
    state.prunes[slot] = base::whole_of<std::uint32_t>(count, "prunes." + slot);
  }
  return state;
}

void forget_network(json& saved) {
  if (!saved.contains("progress_accuracy")) return;
  auto state = read_heuristic(saved);
  state.progress_accuracy.reset();
  state.best_loss.reset();
  state.losses.clear();
  state.accuracies.clear();
  saved.update(heuristic_json(state));
}

}  // namespace esper::tamiyo
