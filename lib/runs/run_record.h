#pragma once
// What is known of one run, as plain data: what `esper runs` lists and the daemon stores as JSON.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/text/json_struct.h"
#include "config/goal.h"

namespace esper::runs {

enum class RunState {
  kRunning,      // a process holds the folder's lock
  kFinished,     // trained to its end, or stopped early by its own rule
  kInterrupted,  // ended before that: by a signal that it saved at, or without a record of its end (killed, power loss)
  kDiverged,
  kFailed,   // its process ended with an error
  kEmpty,    // made, and ended before anything was trained
  kDamaged,  // its files cannot be read; `reason` says which
};
constexpr auto names(RunState) {
  using S = RunState;
  return std::array{std::pair{S::kRunning, "running"},         std::pair{S::kFinished, "finished"},
                    std::pair{S::kInterrupted, "interrupted"}, std::pair{S::kDiverged, "diverged"},
                    std::pair{S::kFailed, "failed"},           std::pair{S::kEmpty, "empty"},
                    std::pair{S::kDamaged, "damaged"}};
}

using config::Goal;

// Figures of one validation pass by name: "loss", "accuracy".
struct Validation {
  std::optional<std::int64_t> epoch;
  std::map<std::string, double> figures;
};

struct RunRecord {
  std::string path;   // of the folder, as it was found
  std::string stamp;  // changes with every file of the folder and with its lock (run_stamp.h)
  std::string name;   // of the folder
  RunState state = RunState::kDamaged;
  std::string reason;  // of the state, as text; empty for kRunning, and for kFinished unless it stopped early

  // From config.yaml.
  std::string config_name, task, dataset, host;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> planned_epochs;  // with what `esper set` changed; none where that cannot be read
  std::string metric;                          // training.metric
  Goal goal = Goal::kMaximize;
  std::string best_metric;  // checkpoint.best_metric, by which the best epoch is chosen
  Goal best_goal = Goal::kMinimize;

  std::int64_t epochs = 0;  // done
  Validation last, best;    // best: none if no epoch was validated

  // Milliseconds since the UNIX epoch.
  std::optional<std::int64_t> started_ms, ended_ms;  // of the first process; of the last one, where it recorded its end
  std::int64_t written_ms = 0;                       // when a process wrote to it last
  std::optional<double> duration_s;                  // training time of all its processes, as far as it was saved

  std::string parent, parent_checkpoint;  // of a fork: the folder it came from, and the checkpoint's name there
  std::int64_t checkpoints = 0;
  std::uint64_t bytes = 0;  // of all files in the folder
  std::string version;      // of Esper, of the first process; empty where it was not recorded
};

constexpr auto json_members(const Validation*) {
  return std::tuple{base::json_member("epoch", &Validation::epoch), base::json_member("figures", &Validation::figures)};
}

constexpr auto json_members(const RunRecord*) {
  using base::json_member;
  using R = RunRecord;
  return std::tuple{json_member("path", &R::path),
                    json_member("stamp", &R::stamp),
                    json_member("name", &R::name),
                    json_member("state", &R::state),
                    json_member("reason", &R::reason),
                    json_member("config_name", &R::config_name),
                    json_member("task", &R::task),
                    json_member("dataset", &R::dataset),
                    json_member("host", &R::host),
                    json_member("seed", &R::seed),
                    json_member("planned_epochs", &R::planned_epochs),
                    json_member("metric", &R::metric),
                    json_member("goal", &R::goal),
                    json_member("best_metric", &R::best_metric),
                    json_member("best_goal", &R::best_goal),
                    json_member("epochs", &R::epochs),
                    json_member("last", &R::last),
                    json_member("best", &R::best),
                    json_member("started_ms", &R::started_ms),
                    json_member("ended_ms", &R::ended_ms),
                    json_member("written_ms", &R::written_ms),
                    json_member("duration_s", &R::duration_s),
                    json_member("parent", &R::parent),
                    json_member("parent_checkpoint", &R::parent_checkpoint),
                    json_member("checkpoints", &R::checkpoints),
                    json_member("bytes", &R::bytes),
                    json_member("version", &R::version)};
}

// A figure of the run's metric; nothing where it has none.
std::optional<double> figure_of(const Validation& validation, const std::string& metric);

}  // namespace esper::runs
