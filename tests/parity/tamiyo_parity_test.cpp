// What PyTorch Geometric's network answered (scripts/record_tamiyo_parity.py), by ours: unfolded after each layer, and
// folded. The error of a tensor is its largest absolute difference, relative to its largest magnitude where that is
// above
// 1. Each is printed.

#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>

#include "base/names.h"
#include "support/recorded_tensors.h"
#include "tamiyo/network/policy_network.h"
#include "tamiyo/network/sample_graphs.h"
#include "tamiyo/network/tensor_names.h"
#include "tamiyo/network/unfolded_network.h"

namespace esper::test::tamiyo_parity_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

constexpr double kTolerance = 1e-5;

using Recording = std::map<std::string, at::Tensor>;

template <class T>
std::vector<T> values_of(const at::Tensor& tensor) {
  const at::Tensor here = tensor.contiguous();
  return {here.const_data_ptr<T>(), here.const_data_ptr<T>() + here.numel()};
}

HeteroGraph graph_of(const Recording& recording) {
  HeteroGraph graph;
  for (const auto& [type, name] : names(NodeType{})) {
    const at::Tensor& features = recording.at(std::string("graph.nodes.") + name);
    graph.nodes[static_cast<std::size_t>(type)] = {static_cast<int>(features.size(0)), values_of<float>(features)};
  }
  for (int relation = 0; relation < kRelations; ++relation) {
    const std::string prefix = "graph.edges." + relation_key(relation);
    const at::Tensor& index = recording.at(prefix + ".index");
    graph.edges[static_cast<std::size_t>(relation)] = {values_of<std::int32_t>(index[0]),
                                                       values_of<std::int32_t>(index[1]),
                                                       values_of<float>(recording.at(prefix + ".attributes"))};
  }
  return graph;
}

void compare(const std::string& form, const std::string& name, const at::Tensor& ours, const at::Tensor& recorded) {
  INFO(form << " " << name);
  REQUIRE(ours.sizes() == recorded.sizes());
  if (ours.numel() == 0) return;
  const at::Tensor a = ours.to(at::kDouble), b = recorded.to(at::kDouble);
  const double largest = b.abs().max().item<double>();
  const double error = a.sub(b).abs().max().item<double>() / std::max(1.0, largest);
  std::printf("  %-8s %-26s largest %8.3g  error %.1e\n", form.c_str(), name.c_str(), largest, error);
  CHECK(error < kTolerance);
}

void compare_stages(const std::vector<NodeTensors>& stages, const Recording& recording) {
  const std::array<std::string, kLayers + 1> stage_names = {"encoder", "layer0", "layer1", "layer2", "layer3"};
  REQUIRE(stages.size() == stage_names.size());
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    for (const auto& [type, name] : names(NodeType{})) {
      const std::string key = stage_names[stage] + "." + name;
      compare("unfolded", key, stages[stage][static_cast<std::size_t>(type)], recording.at(key));
    }
  }
}

void compare_outputs(const std::string& form, const PolicyOutputs& outputs, const Recording& recording) {
  const auto check = [&](const std::string& name, const auto& values) {
    compare(form, name, at::tensor(std::vector<float>(values.begin(), values.end())), recording.at("output." + name));
  };
  check("policy_logits", outputs.policy_logits);
  check("policy_params", outputs.policy_params);
  check("blending_logits", outputs.blending_logits);
  check("schedule", outputs.schedule);
  check("risk_logits", outputs.risk_logits);
  check("value", std::array{outputs.value});
  check("breaker_logits", outputs.breaker_logits);
  check("seed_scores", outputs.seed_scores);
  check("blueprint_scores", outputs.blueprint_scores);
}

void repeat(const std::string& name) {
  at::set_num_threads(1);
  static const Weights kWeights = dense_weights();
  const Recording recording = load_recorded("tamiyo_" + name).tensors;
  const HeteroGraph graph = graph_of(recording);
  std::printf("%s\n", name.c_str());
  const UnfoldedResult unfolded = run_unfolded(kWeights, graph);
  compare_stages(unfolded.stages, recording);
  compare_outputs("unfolded", to_outputs(unfolded.heads), recording);
  PolicyNetwork network(kWeights);
  const auto folded = network.run(graph);
  INFO(folded.error_or(""));
  REQUIRE(folded);
  compare_outputs("folded", *folded, recording);
}

}  // namespace

TEST_CASE("a graph of 8 nodes with one seed as PyTorch Geometric") { repeat("one_seed"); }
TEST_CASE("a graph of 30 nodes with many seeds as PyTorch Geometric") { repeat("many_seeds"); }
TEST_CASE("a graph of 100 nodes as PyTorch Geometric") { repeat("hundred"); }
TEST_CASE("a graph without nodes of two types as PyTorch Geometric") { repeat("missing_types"); }
TEST_CASE("a graph in which every second relation is empty as PyTorch Geometric") { repeat("empty_relations"); }
TEST_CASE("a graph without edges as PyTorch Geometric") { repeat("no_edges"); }

}  // namespace esper::test::tamiyo_parity_test
