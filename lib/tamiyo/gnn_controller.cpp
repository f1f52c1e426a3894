#include "tamiyo/gnn_controller.h"

#include <fmt/core.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "base/text/rounding.h"
#include "tamiyo/decision/choice_commands.h"
#include "tamiyo/decision/details.h"

namespace esper::tamiyo {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;

namespace {

constexpr char kIssuer[] = "tamiyo.gnn";
constexpr char kNormaliserState[] = "normaliser";
constexpr char kWeightsState[] = "weights";

GnnSettings with_care(GnnSettings settings) {
  settings.choice.withheld.assign(kActionsOfCare.begin(), kActionsOfCare.end());
  return settings;
}

void add_coverage(const Coverage& coverage, leyline::Assessment& assessment) {
  assessment.coverage = feature_coverage(coverage).ratio();
  for (const auto& [name, share] : family_coverage(coverage)) {
    assessment.family_coverage[std::string(name)] = share.ratio();
  }
}

// Adds the network's decision to the care's. A seed that the network culls has no other command.
void join(Decision chosen, SeedCare& care, Decision& decision) {
  for (auto& command : chosen.commands) {
    const auto& [operation, slot, blueprint, parameters] = *command.seed_operation;
    if (operation == SeedOperation::kGerminate) care.expect({slot, blueprint});
    if (operation == SeedOperation::kCull) {
      std::erase_if(decision.commands,
                    [&](const auto& other) { return other.target_seed_id == command.target_seed_id; });
      care.release(command.target_seed_id);
    }
    decision.commands.push_back(std::move(command));
  }
  append_reason(decision, chosen.reason);
  decision.assessment = std::move(chosen.assessment);
  decision.details = std::move(chosen.details);
}

void number_commands(const Observation& observation, Decision& decision) {
  for (std::size_t i = 0; i < decision.commands.size(); ++i) {
    decision.commands[i].command_id =
        fmt::format("{}-e{}-{}", observation.training_run_id, observation.current_epoch, i + 1);
  }
}

}  // namespace

Observation without_times(Observation observation) {
  for (const char* name : {"samples_per_s", "hook_latency_ms", "input_wait_ms", "latency_ms"}) {
    observation.training_metrics.erase(name);
  }
  for (auto& block : observation.blocks) block.latency_ms.reset();
  return observation;
}

base::Expected<Normaliser> normaliser_of(const std::string& saved_state) {
  const auto saved = nlohmann::json::parse(saved_state, nullptr, false);
  return read_normaliser(base::member(saved, kNormaliserState));
}

GnnController::GnnController(GraphNetwork network, GnnSettings settings, base::Clock clock)
    : network_(std::move(network)),
      settings_(with_care(std::move(settings))),
      clock_(std::move(clock)),
      care_(settings_.rules, kIssuer),
      normaliser_(settings_.normaliser) {}

Decision GnnController::decide(const Observation& observation) {
  auto care = care_;
  auto normaliser = normaliser_;
  Decision decision;
  if (!care.update(observation, decision)) return decision;
  join(ask_network(observation, normaliser), care, decision);
  number_commands(observation, decision);
  care_ = std::move(care);
  normaliser_ = normaliser;
  return decision;
}

Decision GnnController::ask_network(const Observation& observation, Normaliser& normaliser) {
  const Observation seen = settings_.see_times ? observation : without_times(observation);
  builder_.read(seen);
  builder_.update(normaliser);
  const PolicyGraph& built = builder_.build(normaliser);
  const auto begin = clock_.now();
  const auto outputs = network_(built.graph);
  const double took_ms = base::milliseconds(clock_.now() - begin);
  if (!outputs) throw std::runtime_error(outputs.error());
  const auto choice = choose(*outputs, built.candidates, observation, settings_.choice);
  if (!choice) throw std::runtime_error(choice.error());
  auto decision = decision_of(*choice, built.candidates, observation, {kIssuer, settings_.rules.training});
  add_coverage(built.coverage, *decision.assessment);
  decision.assessment->network_ms = took_ms;
  decision.details = details_text(details_of(*outputs, *choice, built.candidates, observation, settings_.choice));
  return decision;
}

std::string GnnController::save_state() const {
  auto saved = care_json(care_.state());
  saved[kNormaliserState] = normaliser_json(normaliser_);
  saved[kWeightsState] = settings_.weights;
  return saved.dump();
}

void GnnController::load_state(const std::string& text) {
  read_saved_state(text, [this](const nlohmann::json& saved) {
    if (const auto weights = saved.at(kWeightsState).get<std::string>(); weights != settings_.weights) {
      throw base::Error(base::ExitCode::kCheckpoint,
                        fmt::format("the policy network has other weights ({}) than the one that decided so far ({}); "
                                    "name that one's file as policy.file",
                                    settings_.weights, weights));
    }
    const auto normaliser = read_normaliser(saved.at(kNormaliserState));
    if (!normaliser) throw base::Error(base::ExitCode::kCheckpoint, normaliser.error());
    care_.restore(read_care(saved));
    normaliser_ = *normaliser;
  });
}

}  // namespace esper::tamiyo
