#include "tamiyo/service/replay.h"

#include <fmt/core.h>

#include <array>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "tamiyo/service/log_record.h"

namespace esper::tamiyo {

using leyline::Controller;
using leyline::DecisionRecord;
using nlohmann::json;

namespace {

Replayed decide(const leyline::Observation& observation, Controller& controller) {
  try {
    return {controller.decide(observation), "", ""};
  } catch (const std::exception& error) {
    return {std::nullopt, base::plain_reason(error), ""};
  }
}

// The state of `own`, but what is known of the seeds (care_state.h) is that of `run`.
std::string with_seeds_of(const std::string& run, const std::string& own) {
  constexpr std::array kOfSeeds{"last_epoch", "asked", "seeds"};
  const json known = json::parse(run, nullptr, false);
  json state = json::parse(own, nullptr, false);
  if (!known.is_object() || !state.is_object()) return own;
  for (const char* name : kOfSeeds) {
    if (!known.contains(name) || !state.contains(name)) return own;
    state[name] = known[name];
  }
  return state.dump();
}

// As it was asked: the breaker let the question through, or did not.
ServiceState state_then(const DecisionRecord& record, Answer::Kind kind, const ServiceSettings& settings) {
  auto state = read_service(json::parse(record.service), base::Duration(0));
  std::vector<leyline::TelemetryEvent> ignored;
  if (kind != Answer::Kind::kBreakerOpen) may_ask(state, settings, settings.breaker.open_time, ignored);
  return state;
}

}  // namespace

Replayed replay(const leyline::Observation& observation, const std::string& state, const leyline::AnswerRecord& answer,
                Controller& controller) {
  if (answer.outcome != base::name_of(Answer::Kind::kDecided)) {
    return {std::nullopt, fmt::format("it was {} then: {}", answer.outcome, answer.problem), ""};
  }
  try {
    controller.load_state(state);
  } catch (const std::exception& error) {
    return {std::nullopt, base::plain_reason(error),
            fmt::format("its state then cannot be loaded: {}", base::plain_reason(error))};
  }
  auto made = decide(observation, controller);
  made.difference = made.decision ? leyline::difference(answer.decision, *made.decision).value_or("")
                                  : "it fails now: " + made.problem;
  return made;
}

base::Expected<Evaluation> evaluate_again(const DecisionRecord& record, const ServiceSettings& settings) {
  if (record.service.empty()) return base::failure("the policy was asked without the service");
  auto answer = answer_of(record.answer);
  if (!answer) return base::failure(answer.error());
  try {
    auto state = state_then(record, answer->kind, settings);
    return evaluate({record.observation, *std::move(answer), run_figures(record.figures), settings.breaker.open_time},
                    state, settings);
  } catch (const std::exception& error) {
    return base::failure(fmt::format("the state of the service cannot be loaded: {}", base::plain_reason(error)));
  }
}

std::optional<std::string> service_difference(const DecisionRecord& record, const ServiceSettings& settings) {
  if (record.service.empty()) return std::nullopt;
  const auto again = evaluate_again(record, settings);
  if (!again) return again.error();
  if (again->risk_reason != record.held_by)
    return fmt::format("held by {}, then {}", record.held_by, again->risk_reason);
  return leyline::difference(record.carried_out, carried_out(*again));
}

Replayed decide_instead(const DecisionRecord& record, Controller& controller) {
  try {
    controller.load_state(with_seeds_of(record.state, controller.save_state()));
  } catch (const std::exception& error) {
    return {std::nullopt, base::plain_reason(error), ""};
  }
  return decide(record.observation, controller);
}

}  // namespace esper::tamiyo
