// Hosts over flat features: one linear layer, and a multilayer perceptron with a slot after each hidden layer.
// Images are flattened.

#include <ATen/ops/relu.h>
#include <fmt/core.h>

#include "kasmina/host/hosts.h"
#include "kasmina/layers.h"

namespace esper::kasmina {
namespace {

std::int64_t num_features(const leyline::SampleShape& sample, const std::string& kind) {
  require_config(sample.kind != leyline::SampleKind::kTokens,
                 "host.kind: " + kind + " takes numbers or images, but the data are text; use transformer");
  return sample.kind == leyline::SampleKind::kImage ? sample.channels * sample.height * sample.width : sample.features;
}

}  // namespace

HostBody build_linear_host(ModuleScope scope, const leyline::SampleShape& sample) {
  const Linear head = make_linear(scope.child("head"), num_features(sample, "linear"), sample.num_classes);
  return {{}, {}, [head](const torch::Tensor& inputs) { return head(inputs.flatten(1)); }};
}

HostBody build_mlp_host(ModuleScope scope, const config::HostConfig& config, const leyline::SampleShape& sample) {
  require_config(!config.hidden.empty(), "host.hidden: an mlp needs at least one hidden layer; without one use linear");
  std::int64_t width = num_features(sample, "mlp");
  HostBody body;
  body.sites = slot_sites(config, sample);
  std::vector<Linear> blocks;
  for (const std::int64_t next : config.hidden) {
    blocks.push_back(make_linear(scope.child(fmt::format("block{}", blocks.size())).child("linear"), width, next));
    width = next;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    body.sites[i].taken_by = i + 1 < blocks.size() ? fmt::format("host.block{}.linear", i + 1) : "host.head";
  }
  const Linear head = make_linear(scope.child("head"), width, sample.num_classes);
  body.block = [blocks, p = config.dropout](std::size_t slot, const torch::Tensor& x, Mode mode) {
    return dropout(at::relu(blocks[slot](slot == 0 ? x.flatten(1) : x)), p, mode);
  };
  body.head = head;
  return body;
}

}  // namespace esper::kasmina
