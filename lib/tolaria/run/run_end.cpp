#include "tolaria/run/run_end.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/interrupt.h"
#include "base/names.h"
#include "base/quantity.h"
#include "base/signal_point.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using End = RunOutcome::Kind;
using namespace leyline::literals;

leyline::TelemetryEvent RunEnd::early_stop(const std::string& reason) const {
  auto stopped = event("tolaria.early_stop"_event, Level::kInfo,
                       {{"epoch", std::to_string(progress_.epoch)},
                        {"patience", std::to_string(facts_.config.training.early_stop_epochs)},
                        {"reason", reason}});
  if (progress_.best) {
    stopped.attributes["best_epoch"] = std::to_string(progress_.best->epoch);
    stopped.attributes["best_loss"] = fmt::format("{}", progress_.best->figures.loss);
  }
  return stopped;
}

RunOutcome RunEnd::finish(At at) {
  RunOutcome outcome;
  base::fault::signal_point("tolaria.ending");
  if (at == At::kNoImprovement) {
    const auto goal = base::name_of(facts_.config.training.early_stop_metric);
    outcome = {End::kEarlyStopped, 0, fmt::format("validation {} no longer improves", goal)};
    outbox_.emit(early_stop(outcome.reason));
  }
  if (!saver_.save_last_state()) return not_saved();
  return outcome;
}

// A buffer, like the variance of a normalisation, may overflow while the losses are still finite.
RunOutcome RunEnd::not_saved() {
  const auto& failure = saver_.failure();
  if (failure && failure->not_finite) return diverged(failure->problem);
  const std::string reason = failure ? failure->problem
                                     : fmt::format("it took longer than safety.save_deadline ({})",
                                                   base::to_string(facts_.config.safety.save_deadline));
  return {End::kNotSaved, 0, "the final state could not be saved: " + reason};
}

RunOutcome RunEnd::diverged(const std::string& reason, std::string_view advice, const step::StepMetrics* steps) {
  const auto epochs = static_cast<std::uint32_t>(facts_.config.epochs);
  auto ended = event("tolaria.diverged"_event, Level::kCritical,
                     {{"epoch", std::to_string(std::min(progress_.epoch + 1, epochs))},
                      {"step", std::to_string(progress_.step)},
                      {"reason", reason}});
  const std::int64_t trained = steps == nullptr ? 0 : steps->steps;
  if (trained > 0) ended.attributes["loss"] = fmt::format("{}", steps->loss);
  if (trained > 0 && trained > steps->nonfinite_steps) {
    ended.attributes["gradient_norm"] = fmt::format("{}", steps->gradient_norm);
  }
  outbox_.emit(std::move(ended));
  saver_.record(reactions_over_json());
  saver_.finish();
  return {End::kDiverged, 0, fmt::format("{}; {}", reason, advice)};
}

RunOutcome RunEnd::out_of_memory(const std::string& reason, std::string_view advice) {
  saver_.finish();
  return {End::kOutOfMemory, 0, fmt::format("{}; {}", reason, advice)};
}

int RunEnd::report_signal() {
  const int signal = base::Interrupt::requested();
  outbox_.emit(event("tolaria.interrupted"_event, Level::kWarning,
                     {{"signal", std::to_string(signal)},
                      {"epoch", std::to_string(progress_.epoch)},
                      {"step", std::to_string(progress_.step)}}));
  return signal;
}

RunOutcome RunEnd::interrupted() {
  const int signal = report_signal();
  if (saver_.save_last_state())
    return {End::kInterrupted, signal, fmt::format("interrupted by signal {} after saving", signal)};
  const auto& failure = saver_.failure();
  if (failure && failure->not_finite) return left_at_newest_checkpoint(signal, failure->problem);
  return {End::kNotSaved, signal,
          fmt::format("interrupted, and the state could not be saved{}; esper train --resume continues from {}",
                      failure ? ": " + failure->problem : "", newest_place())};
}

RunOutcome RunEnd::interrupted_in_bad_state(const std::string& problem) {
  const int signal = report_signal();
  if (saver_.finish()) return left_at_newest_checkpoint(signal, problem);
  return {End::kNotSaved, signal,
          "interrupted, and a save did not end in time; esper train --resume continues from the newest checkpoint"};
}

std::string RunEnd::newest_place() const {
  const auto saved = saver_.checkpoints();
  return saved.empty() ? "the beginning" : "checkpoint " + saved.back().name();
}

// All that was handed over is written.
RunOutcome RunEnd::left_at_newest_checkpoint(int signal, const std::string& problem) const {
  return {End::kInterrupted, signal,
          fmt::format("interrupted by signal {}; its current state is unusable and was not saved ({}): "
                      "esper train --resume continues from {}",
                      signal, problem, newest_place())};
}

RunOutcome RunEnd::halted(const std::string& reason) {
  if (!saver_.save_last_state()) return {End::kNotSaved, 0, reason + "; and the state could not be saved"};
  return {End::kHalted, 0, reason + "; the state is saved: continue with esper train --resume"};
}

}  // namespace esper::tolaria
