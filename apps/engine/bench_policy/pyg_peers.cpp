#include "engine/bench_policy/pyg_peers.h"

#include <ATen/Parallel.h>
#include <fmt/core.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>

#include "base/names.h"
#include "embedded_policy_network.h"
#include "embedded_policy_peer.h"
#include "engine/bench/peers.h"
#include "engine/bench/progress.h"
#include "engine/bench_policy/answers.h"
#include "engine/python/find_python.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::engine::bench {
namespace {

using nlohmann::json;
using storage::Dtype;
using storage::TensorView;
using tamiyo::HeteroGraph;

constexpr std::chrono::seconds kImportDeadline{120}, kFirstCallDeadline{600};
constexpr const char* kPygNames[] = {"pyg_eager", "pyg_compiled"};
constexpr bool is_compiled(std::string_view name) { return name == kPygNames[1]; }

// Into `held`, which has room.
void add_edges(const std::string& name, const tamiyo::EdgeList& edges, std::vector<std::vector<std::int32_t>>& held,
               std::vector<TensorView>& views) {
  auto& index = held.emplace_back(edges.source);
  index.insert(index.end(), edges.target.begin(), edges.target.end());
  const auto count = static_cast<std::int64_t>(edges.source.size());
  views.push_back({name + ".index", Dtype::kI32, {2, count}, std::as_bytes(std::span(index))});
  views.push_back(
      {name + ".attributes", Dtype::kF32, {count, tamiyo::kEdgeFeatures}, std::as_bytes(std::span(edges.attributes))});
}

void add_nodes(const std::string& prefix, const HeteroGraph& graph, std::vector<TensorView>& views) {
  for (const auto& [type, name] : names(tamiyo::NodeType{})) {
    const auto place = static_cast<std::size_t>(type);
    const auto& table = graph.nodes[place];
    views.push_back({prefix + name,
                     Dtype::kF32,
                     {table.count, tamiyo::kNodeFeatures[place]},
                     std::as_bytes(std::span(table.features))});
  }
}

void write_inputs(const tamiyo::Weights& weights, const std::vector<HeteroGraph>& graphs, const std::string& path) {
  std::vector<TensorView> views;
  std::vector<std::vector<std::int32_t>> held;
  held.reserve(graphs.size() * tamiyo::kRelations);  // views look into it
  for (const auto& [name, tensor] : weights) {
    views.push_back({"weight." + name, Dtype::kF32, tensor.sizes().vec(),
                     std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes())});
  }
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const std::string prefix = fmt::format("graph.{}.", i);
    add_nodes(prefix + "nodes.", graphs[i], views);
    for (int relation = 0; relation < tamiyo::kRelations; ++relation) {
      add_edges(prefix + "edges." + tamiyo::relation_key(relation), graphs[i].edges[static_cast<std::size_t>(relation)],
                held, views);
    }
  }
  write_peer_tensors(views, path);
}

std::shared_ptr<JsonProcess> open(const std::string& name, const Scratch& scratch, const std::string& python) {
  const auto process = std::make_shared<JsonProcess>(
      std::vector<std::string>{python, "-I", scratch.path("policy_peer.py"), ESPER_PARITY_PACKAGES},
      scratch.path(name + ".log"));
  answer_of(*process,
            {{"do", "open"},
             {"tensors", scratch.path("pyg.safetensors")},
             {"threads", at::get_num_threads()},
             {"compile", is_compiled(name)}},
            kImportDeadline);
  return process;
}

}  // namespace

PygPeers::PygPeers(const tamiyo::Weights& weights, const std::vector<HeteroGraph>& graphs, const Scratch& scratch) {
  const PythonFacts python = find_python();
  std::ofstream(scratch.path("policy_network.py")) << kPolicyNetworkProgram;
  std::ofstream(scratch.path("policy_peer.py")) << kPolicyPeerProgram;
  for (const char* name : kPygNames) {
    try {
      if (!python.problem.empty()) throw std::runtime_error(python.problem);
      if (peers_.empty()) write_inputs(weights, graphs, scratch.path("pyg.safetensors"));
      peers_.push_back({name, open(name, scratch, python.path)});
    } catch (const std::exception& error) {
      refused_.push_back({name, error.what()});
    }
  }
}

std::vector<Contender> PygPeers::of(std::size_t graph, int nodes, const std::vector<float>& expected) {
  std::vector<Contender> contenders;
  for (const auto& [name, process] : peers_) {
    show_phase(fmt::format("preparing {} at {} nodes", name, nodes));
    json made;
    try {
      made = answer_of(*process, {{"do", "graph"}, {"graph", graph}}, kFirstCallDeadline);
    } catch (const std::runtime_error& error) {
      refused_.push_back({name, fmt::format("at {} nodes: {}", nodes, error.what())});
      continue;
    }
    check_answer(fmt::format("{} at {} nodes", name, nodes), made.at("answer").get<std::vector<float>>(), expected);
    contenders.push_back(peer_contender(name, process, made.at("warmup_ms").get<double>()));
  }
  return contenders;
}

}  // namespace esper::engine::bench
