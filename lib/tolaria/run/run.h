#pragma once
// One run: what apps/engine composes and the epoch loop drives. Only the loop and what concerns the run as a whole (its
// trainers, its start and end, its summary) take the whole struct; everything else takes the components that it uses.
// Training thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/loader.h"
#include "device/kernel_trace.h"
#include "lanes/shape/lane_log.h"
#include "lanes/structure/scratch_model.h"
#include "leyline/progress.h"
#include "program/compile_service.h"
#include "tamiyo/service/run_policy.h"
#include "tolaria/run/live_changes.h"
#include "tolaria/run/outbox.h"
#include "tolaria/run/saver.h"
#include "tolaria/state/rollback_figures.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

class StepBundles;  // tolaria/safety/step_bundles.h

struct RunData {
  data::Loader& train;
  data::Loader& validation;
  torch::Tensor probe;  // inputs of a validation batch, on the device: grafts are measured on it
};

// What the lanes need besides the model.
struct LaneParts {
  program::CompileService* compile_service = nullptr;  // null: nothing can be compiled
  lanes::ModelFactory build{};                         // a fresh model; null: no structure is prepared ahead
  lanes::GerminationForecast forecast{};               // null: slots and blueprints in order
  lanes::LaneLog log{};                                // of earlier processes of this run
};

// What becomes of seeds that are still growing when the run ends: they are settled (tolaria/growth/settle.h), or stay
// as they are, where nobody keeps the network.
enum class AtTheEnd { kSettle, kLeave };

// When one step of the loop began and ended, monotonic.
struct StepTime {
  base::Duration begin{}, end{};
};

// What is recorded of each step besides its figures. Null: it is not.
struct StepRecords {
  history::BlackBoxWriter* black_box = nullptr;
  StepBundles* bundles = nullptr;               // of steps that went wrong
  std::vector<StepTime>* times = nullptr;       // for benchmarks
  device::KernelTrace* kernel_trace = nullptr;  // of a GPU
};

// The run was restarted from a checkpoint, in this process.
struct RestartReport {
  std::string reason;
  std::uint32_t epoch = 0;  // that it came from, from 1
  std::int64_t step = 0;
  base::Duration took{};
  RollbackFigures figures{};  // until then
};

// The references must outlive the run.
struct Run {
  const RunFacts& facts;
  RunProgress& progress;
  step::Model& model;
  RunData data;
  tamiyo::RunPolicy& policy;
  LaneParts lanes;
  Saver& saver;
  Outbox& outbox;
  base::Ledger& ledger;  // of this thread's time, in this process
  leyline::Progress& display;
  StepRecords records = {};
  LiveChanges* changes = nullptr;  // null: no setting changes
  std::optional<RestartReport> restart_report = {};
  AtTheEnd at_the_end = AtTheEnd::kSettle;
};

}  // namespace esper::tolaria
