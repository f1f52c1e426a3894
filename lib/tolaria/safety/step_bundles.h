#pragma once
// Keeps what it takes to run a step that went wrong again: its batch from when it went wrong, and the state from when
// the run, rolled back, comes to that step again. Then both are written into a bundle, RUN/bundles/step-N
// (checkpoint/step_bundle.h). Training thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "kasmina/tensor/tensor_table.h"
#include "step/train_step.h"
#include "tolaria/checkpoint/step_bundle.h"
#include "tolaria/run/outbox.h"
#include "tolaria/run/run_image.h"
#include "tolaria/safety/governor.h"

namespace esper::tolaria {

// A run has no more of them: the first steps that went wrong say most.
inline constexpr std::size_t kMostBundles = 4;

class StepBundles {
 public:
  // Borrows the file system, the outbox and what `source` refers to.
  StepBundles(base::FileSystem& files, std::string run_folder, const SaveSource& source, Outbox& outbox)
      : files_(files), run_folder_(std::move(run_folder)), source_(source), outbox_(outbox) {}
  StepBundles(const StepBundles&) = delete;
  StepBundles& operator=(const StepBundles&) = delete;

  // The step that just went wrong, while the run's cursor is before it. Copies the batch.
  void keep(const TrainingFailure& failure, std::span<const step::Microbatch> microbatches, config::Lane lane);
  // Before a step: writes the bundle if it is the one that was kept. A failure is reported, and the run goes on.
  void write_if_due(std::int64_t step) {
    if (kept_ && kept_->facts.step == step) write_kept();
  }

  struct Kept {
    StepFacts facts;
    std::vector<kasmina::NamedTensor> batch;
  };
  // For a run that is restarted, and comes to the step again in another composition; or that comes to it only to write
  // its bundle.
  std::optional<Kept> release_kept() { return std::exchange(kept_, std::nullopt); }
  void adopt(std::optional<Kept> kept) { kept_ = std::move(kept); }

 private:
  std::string folder() const;
  bool has_room_for(std::int64_t step);
  void write_kept();
  void write(Kept kept);

  base::FileSystem& files_;
  std::string run_folder_;
  SaveSource source_;
  Outbox& outbox_;
  std::optional<Kept> kept_;
};

}  // namespace esper::tolaria
