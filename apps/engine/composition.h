#pragma once
// A run put together from its configuration: everything the epoch loop refers to, in the order in which it must live.

#include <exception>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/file_system.h"
#include "engine/workbench.h"
#include "nissa/hub.h"
#include "tolaria/checkpoint/checkpoint_writer.h"
#include "tolaria/epoch_loop.h"
#include "tolaria/run/consultation.h"
#include "tolaria/run/resume.h"
#include "tolaria/run/run.h"
#include "tolaria/run/run_folder.h"
#include "tolaria/run/training_identity.h"

namespace esper::engine {

enum class Console { kAsConfigured, kNone };
enum class Start { kNew, kResumed };
enum class Trace { kOff, kOn };

class Composition {
 public:
  // The bench and the file system outlive it. controller: null takes the one that the configuration names.
  Composition(Workbench& bench, const tolaria::RunFolder& folder, base::FileSystem& files, Console console,
              std::unique_ptr<leyline::Controller> controller = nullptr);

  // Before start(): goes back to the run's newest checkpoint that will do. Throws as find_resume_point(), and
  // Error{kConfig} for a fork without seeds that has no epoch left to train.
  void restore(const tolaria::RunFolder& folder);
  // Where the account of the process's time begins, and whether it keeps every span. Before start().
  void keep_time(base::Duration since, Trace trace);
  // Makes the run ready for run_epochs.
  void start(const tolaria::RunFolder& folder, Start how);
  tolaria::Run& run() { return *run_; }
  // Tells how it ended and lets telemetry drain, at most for its deadline.
  void finish(const tolaria::RunOutcome& outcome);
  // The same for a run that an exception ended; saves what can be saved.
  void abandon(const std::exception& error);
  // {sink: {delivered, lost}} of this process; after finish().
  nlohmann::ordered_json telemetry_counts() const;

 private:
  // Ends telemetry, and warns of what was lost.
  void close_telemetry();

  Workbench& bench_;
  base::FileSystem& files_;
  base::Clock clock_;
  tolaria::TrainingIdentity identity_;
  base::Ledger ledger_;  // the run's, once started
  std::shared_ptr<leyline::Progress> display_;
  std::unique_ptr<nissa::Hub> hub_;
  lanes::GerminationForecast forecast_;
  std::unique_ptr<tolaria::Consultation> consultation_;
  tolaria::ResumePoint from_;  // the beginning, unless restored
  std::unique_ptr<tolaria::CheckpointWriter> writer_;
  std::unique_ptr<tolaria::Run> run_;
};

// Microbatches of one epoch.
std::int64_t batches_per_epoch(const Workbench& bench);

}  // namespace esper::engine
