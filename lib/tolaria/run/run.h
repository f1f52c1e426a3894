#pragma once
// One run: what apps/engine composes and the epoch loop drives. Training thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ledger/ledger.h"
#include "config/run_config.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "lanes/lane/lane_figures.h"
#include "lanes/shape/lane_log.h"
#include "lanes/structure/scratch_model.h"
#include "leyline/progress.h"
#include "leyline/telemetry_packet.h"
#include "leyline/topology.h"
#include "program/compile_desk.h"
#include "step/model.h"
#include "step/train_step.h"
#include "tolaria/checkpoint/checkpoint_writer.h"
#include "tolaria/run/consultation.h"
#include "tolaria/run/run_progress.h"

namespace esper::tolaria {

// When one step of the loop began and ended, monotonic.
struct StepTime {
  base::Duration begin{}, end{};
};

// Going back to an earlier state, in this process.
struct RollbackFigures {
  std::int64_t snapshots = 0, hits = 0, misses = 0;
  std::int64_t size_bytes = 0;  // held in memory now
  double latency_ms = 0;        // of the last one
};

struct Run {
  config::RunConfig config;
  std::string run_id;
  std::string training_hash;
  base::Clock clock;
  torch::Device device;
  data::Loader& train_data;
  data::Loader& validation_data;
  std::int64_t skipped_samples;  // that could not be read
  torch::Tensor probe;           // inputs of a validation batch, on the device: grafts are measured on it
  step::Model& model;
  Consultation& consultation;
  CheckpointWriter& writer;
  leyline::TelemetrySink& telemetry;
  std::shared_ptr<leyline::Progress> display;
  RunProgress progress;

  base::Duration started{};                       // of this process, monotonic
  std::vector<leyline::TelemetryEvent> events{};  // go out with the next packet
  std::uint64_t packets = 0;
  std::int64_t saves_written = 0, saves_failed = 0, saves_skipped = 0;  // of this process
  double save_ms = 0, save_stall_ms = 0, save_bytes = 0;                // of the last save
  bool saving_paused = false;                                           // the disk is full
  std::optional<CheckpointInfo> saved{};                                // the newest state known to be on the disk
  std::int64_t notes_lost = 0;                                          // of the journal
  bool journal_failing = false;                                         // told since the last save that went well
  std::int64_t policy_timeouts = 0;                                     // of this process
  double policy_timeout_ms = 0;                                         // of the last one
  bool conservative = false;                                            // the last epoch had no decision
  std::int64_t optimizer_rebuilds = 0;                                  // of this process
  std::int64_t skipped_steps = 0;                                       // of this process, for a gradient not finite
  RollbackFigures rollback{};                                           // of this process
  base::Ledger ledger{};                                                // of this thread's time, in this process
  leyline::Topology topology{};                                         // the network's, for the journal
  lanes::ModelFactory twin{};                                           // null: no structure is prepared ahead
  lanes::GerminationForecast forecast{};                                // null: slots and blueprints in order
  program::CompileDesk* desk = nullptr;                                 // null: nothing can be compiled
  lanes::LaneLog lane_log{};                                            // of earlier processes of this run
  lanes::LaneFigures lanes{};                                           // of the epochs so far, in this process
  std::vector<StepTime>* step_times = nullptr;                          // gets every step, where somebody measures

  std::int64_t steps_per_epoch() const {
    return (train_data.num_batches() + config.step.accumulation - 1) / config.step.accumulation;
  }
  double wall_s() const { return progress.wall_s + std::chrono::duration<double>(clock.now() - started).count(); }
};

// Which state the run is in.
CheckpointInfo state_of(const Run& run);

// Of the step that comes next.
double next_learning_rate(const Run& run);
// Of the last step.
double last_learning_rate(const Run& run);

}  // namespace esper::tolaria
