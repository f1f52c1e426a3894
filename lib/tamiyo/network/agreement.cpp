#include "tamiyo/network/agreement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "tamiyo/network/head_tensors.h"
#include "tamiyo/network/sample_graphs.h"

namespace esper::tamiyo {
namespace {

template <class Numbers>
std::ptrdiff_t highest(const Numbers& numbers) {
  return std::ranges::max_element(numbers) - numbers.begin();
}

std::array<std::ptrdiff_t, 6> decision_of(const PolicyOutputs& outputs) {
  return {highest(outputs.policy_logits),  highest(outputs.blending_logits), highest(outputs.risk_logits),
          highest(outputs.breaker_logits), highest(outputs.seed_scores),     highest(outputs.blueprint_scores)};
}

float difference(const PolicyOutputs& outputs, const PolicyOutputs& expected) {
  const std::vector<float> ours = flat(outputs), others = flat(expected);
  float largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const float one = std::abs(ours[i] - others[i]) / std::max(1.0F, std::abs(others[i]));
    if (std::isnan(one)) return one;
    largest = std::max(largest, one);
  }
  return largest;
}

PolicyOutputs answer(PolicyNetwork& network, const HeteroGraph& graph) {
  auto outputs = network.run(graph);
  ESPER_CHECK(outputs.has_value(), "a sample graph is one that the network takes");
  return *std::move(outputs);
}

}  // namespace

Agreement compare_decisions(PolicyNetwork& network, PolicyNetwork& other) {
  Agreement found{.graphs = kAgreementGraphs};
  for (int i = 0; i < kAgreementGraphs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const HeteroGraph graph = random_graph(kGraphShapes[seed % kGraphShapes.size()], seed);
    const PolicyOutputs ours = answer(network, graph), expected = answer(other, graph);
    if (decision_of(ours) == decision_of(expected)) ++found.same;
    const float one = difference(ours, expected);
    if (std::isnan(one) || one > found.largest_difference) found.largest_difference = one;
  }
  return found;
}

}  // namespace esper::tamiyo
