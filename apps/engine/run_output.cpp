#include "engine/run_output.h"

#include <string>

#include "leyline/telemetry/telemetry.h"

namespace esper::engine {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

namespace {

base::Expected<std::unique_ptr<history::BlackBoxWriter>> open_black_box(const std::string& run_folder) {
  try {
    return std::make_unique<history::BlackBoxWriter>(run_folder);
  } catch (const base::IoError& error) {
    return base::failure(error.what());
  }
}

tolaria::CheckpointStore store_of(const OpenRun& open, const std::vector<tolaria::RefusedCheckpoint>& refused,
                                  const config::CheckpointConfig& config) {
  tolaria::CheckpointStore store(open.files, open.folder.checkpoints(), open.folder.journal(), config);
  store.protect(refused);
  return store;
}

}  // namespace

RunOutput::RunOutput(const OpenRun& open, const std::vector<tolaria::RefusedCheckpoint>& refused,
                     const tolaria::SaveSource& source, base::Ledger& ledger, RunTelemetry& telemetry)
    : black_box_(open_black_box(open.folder.path)),
      outbox_(source.facts.run_id, source.facts.clock, source.progress, ledger, telemetry.sink(), black_box()),
      writer_(store_of(open, refused, source.facts.config.checkpoint), source.facts.clock,
              source.facts.config.safety.save_deadline),
      saver_(source, writer_, outbox_, ledger, telemetry.display()),
      bundles_(open.files, open.folder.path, source, outbox_) {
  report_black_box();
}

void RunOutput::report_black_box() {
  if (!black_box_) {
    outbox_.emit(event("tolaria.blackbox_off"_event, Level::kWarning, {{"reason", black_box_.error()}}));
  } else if (const std::string& reason = (*black_box_)->replaced(); !reason.empty()) {
    outbox_.emit(event("tolaria.blackbox_replaced"_event, Level::kWarning, {{"reason", reason}}));
  }
}

}  // namespace esper::engine
