#pragma once
// A run put together from its configuration: everything the epoch loop refers to, in the order in which it must live.

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/loaders.h"
#include "engine/open_run.h"
#include "engine/policy/policy.h"
#include "engine/run_output.h"
#include "engine/run_telemetry.h"
#include "engine/training_setup.h"
#include "tolaria/report/run_report.h"
#include "tolaria/run/run.h"
#include "tolaria/safety/watchdog.h"

namespace esper::engine {

struct CompositionParts {
  TrainingSetup& setup;  // its model is the one that the run goes on with
  const OpenRun& open;
  Policy policy;
  std::string training_hash;        // TrainingIdentity::text()
  tolaria::RunStart start{};        // from the beginning, or from where
  tolaria::RunProgress progress{};  // where the model stands
  Console console = Console::kNone;
  base::Ledger ledger{};
  std::vector<tolaria::StepTime>* step_times = nullptr;  // as StepRecords::times
};

class Composition {
 public:
  // Ready for run_epochs; its start is reported. The setup and the file system outlive it.
  explicit Composition(CompositionParts parts);
  Composition(const Composition&) = delete;
  Composition& operator=(const Composition&) = delete;

  tolaria::Run& run() { return run_; }
  tolaria::StepBundles& bundles() { return output_.bundles(); }
  tolaria::ChangeableRun changeable() { return {facts_, progress_, output_.outbox(), output_.saver()}; }
  // Reports how it ended and lets telemetry drain, at most for its deadline.
  void finish(const tolaria::RunOutcome& outcome);
  // The same for a run that an exception ended; saves what can be saved.
  void abandon(const std::exception& error);
  // Instead of either, where another composition goes on with the same run: its account of time.
  base::Ledger take_ledger();
  // After either: as RunTelemetry::counts().
  nlohmann::ordered_json telemetry_counts() const;

 private:
  tolaria::SaveSource save_source(const TrainingSetup& setup);

  Policy policy_;
  RunTelemetry telemetry_;
  Loaders loaders_;
  tolaria::RunFacts facts_;
  tolaria::RunProgress progress_;
  base::Ledger ledger_;
  RunOutput output_;
  tolaria::Run run_;
  tolaria::Watchdog watchdog_;
};

}  // namespace esper::engine
