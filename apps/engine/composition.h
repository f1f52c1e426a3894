#pragma once
// A run put together from its configuration: everything the epoch loop refers to, in the order in which it must live.

#include <exception>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/file_system.h"
#include "engine/training_identity.h"
#include "engine/workbench.h"
#include "history/run_history.h"
#include "nissa/hub.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/checkpoint/checkpoint_writer.h"
#include "tolaria/epoch_loop.h"
#include "tolaria/run/consultation.h"
#include "tolaria/run/run.h"
#include "tolaria/run/run_folder.h"

namespace esper::engine {

enum class Console { kAsConfigured, kNone };
enum class Start { kNew, kResumed };
enum class Trace { kOff, kOn };

class Composition {
 public:
  // The bench and the file system outlive it. controller: null takes the one that the configuration names.
  Composition(Workbench& bench, const tolaria::RunFolder& folder, base::FileSystem& files, Console console,
              std::unique_ptr<leyline::Controller> controller = nullptr);

  // Before start(): goes back to the newest checkpoint that is whole and belongs to this configuration. Without any
  // checkpoint the run begins anew; where there are some and none will do, throws Error{kCheckpoint} with the reasons;
  // also where the journal and the checkpoint tell two different networks.
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

  std::string accept(const tolaria::CheckpointImage& image);

  Workbench& bench_;
  base::FileSystem& files_;
  base::Clock clock_;
  TrainingIdentity identity_;
  base::Ledger ledger_;  // the run's, once started
  std::shared_ptr<leyline::Progress> display_;
  std::unique_ptr<nissa::Hub> hub_;
  lanes::GerminationForecast forecast_;
  std::unique_ptr<tolaria::Consultation> consultation_;
  tolaria::RunProgress progress_;  // of the checkpoint, once restored
  std::string restored_from_;      // path; empty: from the beginning
  std::vector<tolaria::RefusedCheckpoint> refused_;
  std::string run_dir_;          // of the run that is resumed
  history::RunHistory journal_;  // its journal, as far as the checkpoint needs it
  std::string unchecked_;        // why the checkpoint could not be held against it
  std::unique_ptr<tolaria::CheckpointWriter> writer_;
  std::unique_ptr<tolaria::Run> run_;
};

// A checkpoint that the journal could not vouch for, `doubt` by check_growth(): what to say of it.
std::string why_unchecked(const std::string& checkpoint, const history::RunHistory& journal, const std::string& doubt);

// Microbatches of one epoch.
std::int64_t batches_per_epoch(const Workbench& bench);

}  // namespace esper::engine
