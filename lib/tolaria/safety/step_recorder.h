#pragma once
// Puts a run's steps and epoch ends into its black box. On the CPU with loss and gradient norm of each step, which are
// in this process's memory; on a GPU nothing is read until the epoch ends. No allocation, no system call. Training
// thread.

#include <cstdint>
#include <span>

#include "history/black_box/black_box_writer.h"
#include "step/step_state.h"
#include "step/train_step.h"
#include "tolaria/state/run_facts.h"
#include "tolaria/state/trained_epoch.h"

namespace esper::tolaria {

// How a step ran.
struct StepLane {
  config::Lane lane = config::Lane::kEager;
  std::uint64_t bits = 0;
};

class StepRecorder {
 public:
  // Borrows all of it. black_box: null where the run has none; then nothing is done.
  StepRecorder(const RunFacts& facts, const RunProgress& progress, const step::StepState& state,
               history::BlackBoxWriter* black_box)
      : facts_(facts), progress_(progress), state_(state), black_box_(black_box) {}

  // Before and after a step, while the run's cursor is before it. learning_rate: the run's in this step.
  void begin() {
    if (black_box_ != nullptr) begin_step();
  }
  void end(std::span<const step::Microbatch> microbatches, double learning_rate, StepLane lane) {
    if (black_box_ != nullptr) end_step(microbatches, learning_rate, lane);
  }
  // Of a step that is not trained; instead of both.
  void pass_over(std::span<const step::Microbatch> microbatches);
  // The means of the epoch that ends, and the learning rate of its last step. Before the epoch is counted.
  void end_epoch(const step::StepMetrics& metrics, const TrainedEpoch& trained);

 private:
  // Of the epoch so far.
  struct Sums {
    double loss = 0, norms = 0, finite = 0;
    std::int64_t targets = 0;
  };
  Sums sums() const;
  void begin_step();
  void end_step(std::span<const step::Microbatch> microbatches, double learning_rate, StepLane lane);
  history::BlackBoxRecord new_record(history::BlackBoxKind kind) const;
  history::BlackBoxRecord record_of(std::span<const step::Microbatch> microbatches) const;
  void set_figures(history::BlackBoxRecord& record) const;

  const RunFacts& facts_;
  const RunProgress& progress_;
  const step::StepState& state_;
  history::BlackBoxWriter* black_box_;
  Sums before_;
  std::uint64_t rng_ = 0;
  base::Duration begun_{};
};

}  // namespace esper::tolaria
