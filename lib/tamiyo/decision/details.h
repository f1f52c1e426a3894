#pragma once
// How a network's decision came about, as JSON text for the log of decisions (leyline::Decision::details), and read
// back from there. The graph is not in it: it follows from the observation and the normaliser. Pure functions.

#include <string>
#include <vector>

#include "base/expected.h"
#include "tamiyo/decision/choice.h"
#include "tamiyo/graph/policy_outputs.h"

namespace esper::tamiyo {

// An action of action_table.h.
struct ActionDetails {
  std::string name;
  double score = 0;          // the network's
  bool is_possible = false;  // its mask
  std::vector<int> targets;  // rows of Candidates::seeds that it could have been applied to
};

struct ChoiceDetails {
  std::string action;
  double probability = 1;
  int seed = -1, blueprint = -1;  // rows of the candidates; -1: none
};

struct DecisionDetails {
  ChoiceDetails choice;
  std::vector<ActionDetails> actions;  // in the table's order
  PolicyOutputs outputs;               // what all heads answered
};

DecisionDetails details_of(const PolicyOutputs& outputs, const Choice& choice, const Candidates& candidates,
                           const leyline::Observation& observation, const ChoiceSettings& settings);

std::string details_text(const DecisionDetails& details);
base::Expected<DecisionDetails> read_details(const std::string& text);

}  // namespace esper::tamiyo
