#include "engine/bench_policy/latency.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/bench/progress.h"
#include "engine/bench/step_clock.h"
#include "engine/bench_policy/answers.h"
#include "engine/bench_policy/network_forms.h"
#include "engine/bench_policy/pyg_peers.h"
#include "tamiyo/network/head_tensors.h"
#include "tamiyo/network/sample_graphs.h"

namespace esper::engine::bench {
namespace {

using tamiyo::HeteroGraph;

constexpr double kNetworkRoundMs = 200;  // of each form: some calls even of the slowest

std::vector<HeteroGraph> graphs() {
  std::vector<HeteroGraph> all;
  for (const tamiyo::GraphShape& shape : tamiyo::kGraphShapes) all.push_back(tamiyo::random_graph(shape, 1));
  return all;
}

Contender contender_of(const Form& form) {
  const auto run = [call = form.call](int calls, std::vector<double>& out_us) {
    time_steps(calls, c10::kCPU, out_us, call);
  };
  return {form.name, run, form.warmup_ms};
}

std::vector<Contender> contenders_of(const std::vector<Form>& forms, int nodes, const std::vector<float>& expected) {
  std::vector<Contender> contenders;
  for (const Form& form : forms) {
    check_answer(fmt::format("{} at {} nodes", form.name, nodes), flat(form.call()), expected, form.tolerance);
    contenders.push_back(contender_of(form));
  }
  return contenders;
}

void add_rows(std::vector<Row> rows, int nodes, Latency& out) {
  for (Row& row : rows) {
    if (row.failure.empty()) {
      out.rows.push_back({nodes, std::move(row)});
    } else {
      out.refused.push_back({row.name, fmt::format("at {} nodes: {}", nodes, row.failure)});
    }
  }
}

}  // namespace

Latency measure_latency(const config::RunConfig& config, const Scratch& scratch, const LatencyPlan& plan) {
  Latency out;
  const tamiyo::Weights weights = tamiyo::dense_weights();
  const std::vector<HeteroGraph> all = graphs();
  NetworkForms networks(weights, config, scratch.cache_dir());
  std::optional<PygPeers> peers;
  if (plan.peers) {
    show_phase("starting PyTorch Geometric");
    peers.emplace(weights, all, scratch);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int nodes = count_nodes(all[i]);
    const auto forms = networks.of(all[i]);
    const auto expected = flat(forms.front().call());
    auto contenders = contenders_of(forms, nodes, expected);
    if (peers) std::ranges::move(peers->of(i, nodes, expected), std::back_inserter(contenders));
    show_phase(fmt::format("the network at {} nodes", nodes));
    add_rows(take_turns(contenders, {plan.rounds, kNetworkRoundMs, show_rounds}), nodes, out);
  }
  std::ranges::move(networks.take_refused(), std::back_inserter(out.refused));
  if (peers) std::ranges::copy(peers->refused(), std::back_inserter(out.refused));
  return out;
}

}  // namespace esper::engine::bench
