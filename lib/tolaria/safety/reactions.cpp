#include "tolaria/safety/reactions.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "device/out_of_memory.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

std::string_view Reactions::advice_for(const TrainingFailure& failure) {
  if (failure.kind == FailureKind::kOutOfMemory) return "lower data.batch_size, or the size of the network";
  return failure.is_of_data ? "look for numbers in the data that are not finite: esper data show" : kLowerRateAdvice;
}

bool Reactions::has_checkpoint_before(std::int64_t step) {
  const auto is_written = [&] {
    const auto saved = saver_.checkpoints();
    return std::ranges::any_of(saved, [&](const CheckpointEntry& entry) { return entry.step <= step; });
  };
  return step == 0 || is_written() || !saver_.finish() || is_written();
}

// So that going back costs no more than to that state. Whatever fails, there is an earlier checkpoint.
void Reactions::save_earlier_state() {
  const auto saved = saver_.checkpoints();
  if (!saved.empty() && saved.back().step >= progress_.step) return;
  try {
    saver_.save_last_state();
  } catch (const std::exception& error) {
    if (device::out_of_memory_message(error).empty()) throw;
  }
}

Reactions::Next Reactions::react(const TrainingFailure& failure) {
  const ReactionLimits limits{facts_.config.safety, facts_.config.data.batch_size,
                              settings_.compute_type == torch::kFloat32, facts_.epoch_end(progress_)};
  const ReactionRecord reaction = next_reaction(failure, progress_.safety, limits);
  const bool is_of_epoch = failure.kind == FailureKind::kBadEpoch;
  if (reaction.reaction == Reaction::kStop) return Next::kStop;
  if (is_of_epoch && !has_checkpoint_before(failure.step)) {
    good_state_.report_failure(failure.reason, "no checkpoint from before it");
    return Next::kStop;
  }
  restart_request_ = request_restart(failure.step);
  const bool restored = !is_of_epoch && good_state_.rollback(failure.reason);
  if (restored) {
    SafetyRecord safety = std::move(progress_.safety);
    history::SettingChanges changes = std::move(progress_.changes);  // those of this epoch hold
    progress_ = good_state_.snapshot_progress();
    progress_.changes = std::move(changes);
    if (needs_checkpoint(failure, reaction)) save_earlier_state();
    progress_.safety = std::move(safety);
  }
  progress_.safety.apply(reaction);
  made_.push_back(reaction);
  saver_.record(reaction_json(reaction));
  report(reaction, failure);
  escalate(reaction.reaction, progress_.safety.failures_before(limits.epoch_end), failure.reason);
  if (restored && !needs_checkpoint(failure, reaction)) return Next::kTrainAgain;
  restart_request_.reactions = made_;
  return Next::kRestart;
}

// Whatever came before it, what keeps the epoch halts no run.
void Reactions::escalate(Reaction reaction, std::int64_t failures, const std::string& reason) {
  if (fails_epoch(reaction)) {
    emergency_.fail_epoch(failures, reason);
  } else if (reaction != Reaction::kSearch && reaction != Reaction::kCompareStep) {
    emergency_.raise(EmergencyLevel::kElevated, failures, reason);
  }
}

void Reactions::report(const ReactionRecord& reaction, const TrainingFailure& failure) {
  const std::string epoch = std::to_string(progress_.epoch + 1), step = std::to_string(failure.step);
  switch (reaction.reaction) {
    case Reaction::kSearch:  // the return is reported, and what comes of it
      break;
    case Reaction::kCompareStep:
      outbox_.emit(event("tolaria.bad_step_compared"_event, Level::kWarning,
                         {{"epoch", epoch}, {"step", step}, {"reason", failure.reason}}));
      break;
    case Reaction::kSkipStep:
      outbox_.emit(event("tolaria.step_skipped"_event, Level::kWarning,
                         {{"epoch", epoch}, {"step", step}, {"reason", failure.reason}}));
      break;
    case Reaction::kSplitBatches:
      outbox_.emit(event("tolaria.batches_split"_event, Level::kWarning,
                         {{"epoch", epoch},
                          {"step", step},
                          {"parts", std::to_string(progress_.safety.parts_at(failure.step))},
                          {"reason", failure.reason}}));
      break;
    case Reaction::kLowerRate:
      outbox_.emit(event("tolaria.learning_rate_lowered"_event, Level::kWarning,
                         {{"epoch", epoch},
                          {"step", step},
                          {"factor", fmt::format("{}", progress_.safety.rate_factor(failure.step))},
                          {"reason", failure.reason}}));
      break;
    case Reaction::kFullPrecision:
      outbox_.emit(event("tolaria.full_precision"_event, Level::kWarning,
                         {{"epoch", epoch}, {"step", step}, {"reason", failure.reason}}));
      break;
    case Reaction::kStop:
      break;
  }
  outbox_.flush();
}

}  // namespace esper::tolaria
