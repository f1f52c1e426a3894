#pragma once
// What a run writes while it trains: events, checkpoints, and bundles of steps that went wrong. Training thread.

#include <memory>
#include <vector>

#include "base/expected.h"
#include "engine/open_run.h"
#include "engine/run_telemetry.h"
#include "tolaria/checkpoint/checkpoint_writer.h"
#include "tolaria/run/saver.h"
#include "tolaria/safety/step_bundles.h"

namespace esper::engine {

class RunOutput {
 public:
  // refused: checkpoints that stay as they are. Borrows the rest. A run goes on without a black box, and reports why.
  RunOutput(const OpenRun& open, const std::vector<tolaria::RefusedCheckpoint>& refused,
            const tolaria::SaveSource& source, base::Ledger& ledger, RunTelemetry& telemetry);
  RunOutput(const RunOutput&) = delete;
  RunOutput& operator=(const RunOutput&) = delete;

  // Null: there is none.
  history::BlackBoxWriter* black_box() const { return black_box_ ? black_box_->get() : nullptr; }
  tolaria::Outbox& outbox() { return outbox_; }
  tolaria::Saver& saver() { return saver_; }
  tolaria::StepBundles& bundles() { return bundles_; }

 private:
  void report_black_box();

  base::Expected<std::unique_ptr<history::BlackBoxWriter>> black_box_;
  tolaria::Outbox outbox_;
  tolaria::CheckpointWriter writer_;
  tolaria::Saver saver_;
  tolaria::StepBundles bundles_;
};

}  // namespace esper::engine
