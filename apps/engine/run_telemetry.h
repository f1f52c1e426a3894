#pragma once
// Where a run's packets go: telemetry.jsonl and the console, each behind a queue.

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "config/run_config.h"
#include "leyline/progress.h"
#include "nissa/hub.h"
#include "tolaria/run/run_folder.h"

namespace esper::engine {

enum class Console { kAsConfigured, kNone };

class RunTelemetry {
 public:
  RunTelemetry(const config::RunConfig& config, const tolaria::RunFolder& folder, Console console);

  leyline::TelemetrySink& sink() { return *hub_; }
  // What the console's progress bar shows.
  leyline::Progress& display() { return *display_; }

  // Lets the sinks drain, at most for a deadline, and warns of what was lost.
  void close();
  // {sink: {delivered, lost}} of this process; after close().
  nlohmann::ordered_json counts() const;

 private:
  std::shared_ptr<leyline::Progress> display_;
  std::unique_ptr<nissa::Hub> hub_;
};

}  // namespace esper::engine
