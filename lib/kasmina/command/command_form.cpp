#include "kasmina/command/command_form.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "config/entries/slot_alpha.h"
#include "leyline/seed_command.h"

namespace esper::kasmina {

using leyline::AdaptationCommand;
using leyline::kKeptAlpha;
using leyline::SeedOperation;
using leyline::Stage;

namespace {

using Events = std::vector<LifecycleEvent>;

bool is_supported(SeedOperation operation) {
  return operation == SeedOperation::kGerminate || operation == SeedOperation::kCull ||
         operation == SeedOperation::kCancel || operation == SeedOperation::kKeep ||
         wanted_stage(operation).has_value();
}

bool is_late(const AdaptationCommand& command, std::uint64_t now_ns) {
  constexpr std::uint64_t kNanosecondsPerMillisecond = 1'000'000;
  if (command.execution_deadline_ms == 0) return false;
  return now_ns == 0 || now_ns > command.issued_at_ns + command.execution_deadline_ms * kNanosecondsPerMillisecond;
}

bool is_whole(double value) { return value == std::floor(value); }

// A parameter of GERMINATE: one setting of the seed's blend.
struct BlendParameter {
  std::string_view name;
  bool (*take)(double value, AlphaSchedule& schedule);  // returns false, without a change, for an invalid value
  std::string_view range;
};

constexpr std::array kBlendParameters{
    BlendParameter{"alpha_curve",
                   [](double value, AlphaSchedule& schedule) {
                     constexpr auto kCurves = names(config::AlphaCurve{});
                     if (!is_whole(value) || !(value >= 0 && value < kCurves.size())) return false;
                     schedule.curve = kCurves[static_cast<std::size_t>(value)].first;
                     return true;
                   },
                   "0, 1 or 2"},  // linear, cosine, sigmoid
    BlendParameter{"alpha_ticks",
                   [](double value, AlphaSchedule& schedule) {
                     if (!is_whole(value) || !(value >= 1 && value <= config::SlotAlpha::kMostTicks)) return false;
                     schedule.ticks = static_cast<int>(value);
                     return true;
                   },
                   "a whole number >= 1"},
    BlendParameter{"alpha_target",
                   [](double value, AlphaSchedule& schedule) {
                     if (!(value >= config::SlotAlpha::kLeastTarget && value <= 1)) return false;
                     schedule.target = value;
                     return true;
                   },
                   "0.05 to 1"},
};

// Null if there is no parameter of this name.
const BlendParameter* blend_parameter(std::string_view name) {
  const auto found = std::ranges::find(kBlendParameters, name, &BlendParameter::name);
  return found == kBlendParameters.end() ? nullptr : &*found;
}

}  // namespace

LifecycleEvent refusal_of(const AdaptationCommand& command, const std::string& code, const std::string& reason) {
  LifecycleEvent event;
  event.kind = LifecycleEvent::Kind::kCommandRejected;
  event.seed_id = command.target_seed_id;
  if (command.seed_operation) {
    event.slot = command.seed_operation->slot;
    event.blueprint = command.seed_operation->blueprint_id;
  }
  event.reason = reason;
  event.command_id = command.command_id;
  event.command_type = base::name_of(command.command_type);
  event.code = code;
  event.passed = false;
  return event;
}

Events refused(const AdaptationCommand& command, const std::string& code, const std::string& reason) {
  return {refusal_of(command, code, reason)};
}

std::optional<Stage> wanted_stage(SeedOperation operation) {
  switch (operation) {
    case SeedOperation::kStartTraining:
      return Stage::kTraining;
    case SeedOperation::kStartGrafting:
      return Stage::kBlending;
    case SeedOperation::kStabilize:
      return Stage::kShadowing;
    case SeedOperation::kEvaluate:
      return Stage::kProbationary;
    case SeedOperation::kFossilize:
      return Stage::kFossilized;
    default:
      return std::nullopt;
  }
}

base::Expected<AlphaSchedule> schedule_from(const std::map<std::string, double>& parameters, AlphaSchedule usual) {
  for (const auto& [name, value] : parameters) {
    const auto* parameter = blend_parameter(name);
    ESPER_CHECK(parameter, "a parameter of GERMINATE that was not checked: " + name);
    if (!parameter->take(value, usual)) return base::failure(name + " must be " + std::string(parameter->range));
  }
  return usual;
}

base::Expected<double> kept_alpha(const std::map<std::string, double>& parameters) {
  const auto found = parameters.find(kKeptAlpha);
  const double alpha = found == parameters.end() ? 1 : found->second;
  if (!(alpha > 0 && alpha <= 1)) return base::failure("alpha must be above 0, and 1 at most");
  return alpha;
}

Events refuse_form(const AdaptationCommand& command, std::uint64_t now_ns) {
  if (command.version != 1) return refused(command, "unsupported_version", "only commands of version 1 are supported");
  if (command.command_id.empty()) return refused(command, "missing_command_id", "the command has no id");
  if (command.command_type != leyline::CommandType::kSeed) {
    return refused(command, "unsupported_command_type", "the network executes SEED commands only");
  }
  if (!command.seed_operation) return refused(command, "missing_operation", "a SEED command without an operation");
  const auto& operation = *command.seed_operation;
  if (!is_supported(operation.operation)) {
    return refused(command, "unsupported_operation",
                   std::string(base::name_of(operation.operation)) + " is not an operation of this network");
  }
  for (const auto& [name, value] : operation.parameters) {
    if (operation.operation == SeedOperation::kGerminate && blend_parameter(name)) continue;
    if (operation.operation == SeedOperation::kKeep && name == kKeptAlpha) continue;
    return refused(command, "unsupported_parameter",
                   std::string(base::name_of(operation.operation)) + " has no parameter \"" + name + "\"");
  }
  if (is_late(command, now_ns)) {
    return refused(command, "expired_command",
                   fmt::format("its deadline of {} ms {}", command.execution_deadline_ms,
                               now_ns == 0 ? "cannot be judged without the time" : "has passed"));
  }
  return {};
}

}  // namespace esper::kasmina
