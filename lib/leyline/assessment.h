#pragma once
// What a policy that estimates says of its decision, besides the commands: figures to judge it by. A policy that
// estimates nothing leaves all of it out. Plain data. Any thread.

#include <map>
#include <optional>
#include <string>

namespace esper::leyline {

struct Assessment {
  // How a new seed is to be blended in.
  struct Blending {
    std::string method;  // of the alpha curve
    int method_index = 0;
    double schedule_start = 0, schedule_end = 0;  // 0..1, start <= end
  };

  std::optional<double> value;                     // what the policy expects of the run from here on, in its own unit
  std::optional<double> risk;                      // of the decision, 0..1
  std::optional<int> risk_index;                   // the most likely level of risk, 0 is the lowest
  std::optional<double> coverage;                  // which share of its inputs the policy had, 0..1
  std::map<std::string, double> family_coverage;   // the same by family of inputs: "node.seed", "edges.seed_monitors"
  std::optional<double> network_ms;                // time of the policy's network alone
  std::optional<int> seed_index, blueprint_index;  // chosen, among the policy's candidates
  std::optional<double> seed_score;
  std::optional<Blending> blending;
};

}  // namespace esper::leyline
