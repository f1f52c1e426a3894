// What it costs to make the policy's graph of an observation: read, update, build. Prints one JSON line a case. The aim
// is a p95 of at most 0.3 ms at 100 nodes.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/text/rounding.h"
#include "tamiyo/graph/build_graph.h"
#include "unit/tamiyo/observed.h"

namespace {

using namespace esper;
using namespace esper::tamiyo;

constexpr int kWarmUp = 100, kBuilds = 5000;

// Eight blueprints fit each slot.
leyline::Observation observation_of(int live, int empty) {
  auto seen = observed_many(live, empty);
  for (auto& slot : seen.slots) {
    slot.blueprints = {"noop",      "conv_light", "attention",  "norm",
                       "depthwise", "bottleneck", "conv_small", "conv_heavy"};
    slot.step_costs.assign(slot.blueprints.size(), 0.1);
    slot.parameters.assign(slot.blueprints.size(), 1000);
  }
  return seen;
}

bool is_right(const PolicyGraph& built, int seeds) {
  const auto finite = [](const NodeTable& table) {
    return std::ranges::all_of(table.features, [](float value) { return std::isfinite(value); });
  };
  const auto& seed_nodes = built.graph.nodes[static_cast<std::size_t>(NodeType::kSeed)];
  return seed_nodes.count == seeds && std::ranges::all_of(built.graph.nodes, finite);
}

bool run(int live, int empty) {
  const auto seen = observation_of(live, empty);
  const base::Clock clock;
  GraphBuilder builder;
  Normaliser normaliser;
  std::vector<double> us;
  bool right = true;
  for (int i = 0; i < kWarmUp + kBuilds; ++i) {
    const auto begin = clock.now();
    builder.read(seen);
    builder.update(normaliser);
    const auto& built = builder.build(normaliser);
    if (i >= kWarmUp) us.push_back(1000 * base::milliseconds(clock.now() - begin));
    right = right && is_right(built, live + empty);
  }
  const auto& graph = builder.build(normaliser).graph;
  int nodes = 0;
  std::size_t edges = 0;
  for (const auto& table : graph.nodes) nodes += table.count;
  for (const auto& list : graph.edges) edges += list.source.size();
  std::printf("{\"nodes\": %d, \"edges\": %zu, \"p50_us\": %.1f, \"p95_us\": %.1f, \"is_right\": %s}\n", nodes, edges,
              base::percentile(us, 50), base::percentile(us, 95), right ? "true" : "false");
  return right;
}

}  // namespace

int main() {
  bool right = run(1, 2);
  right = run(3, 4) && right;
  right = run(9, 20) && right;   // 98 nodes
  right = run(32, 32) && right;  // at the caps
  return right ? 0 : 1;
}
