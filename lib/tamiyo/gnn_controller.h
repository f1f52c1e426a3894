#pragma once
// The policy `gnn`: a neural network sees the run as a graph and decides what is germinated, and where, and what is
// culled. Its seeds are taken through their stages, and pruned, by the same rules as those of every other policy
// (seed_care.h).

#include <array>
#include <string>

#include "base/clock.h"
#include "base/expected.h"
#include "leyline/controller.h"
#include "tamiyo/decision/choice.h"
#include "tamiyo/graph/build_graph.h"
#include "tamiyo/graph/graph_network.h"
#include "tamiyo/seed_care.h"

namespace esper::tamiyo {

struct GnnSettings {
  ChoiceSettings choice;
  Rules rules;                 // of the seeds' care
  bool see_times = false;      // the network sees measured times, which a resumed run does not repeat
  std::string weights;         // what identifies them: a saved state belongs to its weights
  Normaliser normaliser = {};  // that a run begins with: a part of the policy's file
};

// Actions that the network never chooses: the care advances seeds, and a seed that is blended out goes through stages,
// too.
inline constexpr std::array kActionsOfCare{Action::kAdvance, Action::kCancel};

// As the network sees it with GnnSettings::see_times off.
leyline::Observation without_times(leyline::Observation observation);

// Of a GnnController's saved state, what it had learned of the features' scales by then.
base::Expected<Normaliser> normaliser_of(const std::string& saved_state);

class GnnController final : public leyline::Controller {
 public:
  GnnController(GraphNetwork network, GnnSettings settings, base::Clock clock = {});

  // The same observations give the same decisions. Throws std::runtime_error where the network has no answer that can
  // be used; the state stays as it was.
  leyline::Decision decide(const leyline::Observation& observation) override;
  std::string save_state() const override;
  void load_state(const std::string& text) override;

  const Normaliser& normaliser() const { return normaliser_; }

 private:
  leyline::Decision ask_network(const leyline::Observation& observation, Normaliser& normaliser);

  GraphNetwork network_;
  GnnSettings settings_;
  base::Clock clock_;
  SeedCare care_;
  Normaliser normaliser_;
  GraphBuilder builder_;
};

}  // namespace esper::tamiyo
