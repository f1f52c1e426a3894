#include "tolaria/safety/step_reactions.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "leyline/telemetry.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

GoodState::Keeps when_to_keep(const RunFacts& facts) {
  const auto& safety = facts.config.safety;
  const bool reacts = safety.most_skipped_steps > 0 || safety.most_rate_cuts > 0;
  const bool watches = facts.device.is_cpu() && facts.config.device.precision != config::Precision::kFp16;
  return reacts && watches ? GoodState::Keeps::kAlways : GoodState::Keeps::kWhileSeedsGrow;
}

std::string_view StepReactions::advice_for(const BadStep& bad) {
  return bad.is_of_data ? "look for numbers in the data that are not finite: esper data show" : kLowerRateAdvice;
}

bool StepReactions::go_back_before(const BadStep& bad) {
  const auto& limits = facts_.config.safety;
  const Reaction reaction = next_reaction(progress_.safety, limits);
  if (reaction == Reaction::kStop || !good_state_.put_back(bad.reason)) return false;
  SafetyRecord safety = after_reaction(std::move(progress_.safety), reaction, bad.step, limits);
  history::SettingChanges changes = std::move(progress_.changes);  // those of this epoch hold
  progress_ = good_state_.kept_progress();
  progress_.changes = std::move(changes);
  progress_.safety = std::move(safety);
  report(reaction, bad);
  return true;
}

void StepReactions::report(Reaction reaction, const BadStep& bad) {
  const std::string epoch = std::to_string(progress_.epoch + 1), step = std::to_string(bad.step);
  if (reaction == Reaction::kSkipStep) {
    outbox_.emit(event("tolaria.step_skipped"_event, Level::kWarning,
                       {{"epoch", epoch}, {"step", step}, {"reason", bad.reason}}));
  } else {
    const auto factor = fmt::format("{}", progress_.safety.rate_factor(bad.step));
    outbox_.emit(event("tolaria.learning_rate_lowered"_event, Level::kWarning,
                       {{"epoch", epoch}, {"step", step}, {"factor", factor}, {"reason", bad.reason}}));
  }
  outbox_.flush();
}

}  // namespace esper::tolaria
