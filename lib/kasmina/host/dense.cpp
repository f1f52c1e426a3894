// Hosts over flat features: one linear layer, and a multilayer perceptron with a slot after each hidden layer.
// Images are flattened.

#include <ATen/ops/relu.h>
#include <fmt/core.h>

#include "kasmina/host/hosts.h"
#include "kasmina/tensor/layers.h"

namespace esper::kasmina {
namespace {

std::int64_t num_features(const leyline::SampleShape& sample, const std::string& kind) {
  require_config(sample.kind != leyline::SampleKind::kTokens,
                 "host.kind: " + kind + " takes numbers or images, but the data are text; use transformer");
  return sample.kind == leyline::SampleKind::kImage ? sample.channels * sample.height * sample.width : sample.features;
}

// A hidden layer between one of that many inputs and one of that many outputs.
struct Widths {
  std::int64_t in = 0, out = 0;
};

HiddenLayer hidden_dense(std::size_t block, const SlotSite& site, const Widths& widths, double dropout_p) {
  HiddenLayer hidden{fmt::format("host.block{}", block), site.taken_by + ".weight", site.shape.channels};
  hidden.build = [widths, width = hidden.width, p = dropout_p](ModuleScope scope, std::int64_t count) -> FurtherUnits {
    const Linear linear = make_linear(scope.child("linear"), widths.in, count);
    return {[linear, p](const torch::Tensor& x, Mode mode) { return dropout(at::relu(linear(x)), p, mode); },
            make_outlet(scope, {widths.out, count}, width)};
  };
  return hidden;
}

}  // namespace

HostBody build_linear_host(ModuleScope scope, const leyline::SampleShape& sample) {
  const Linear head = make_linear(scope.child("head"), num_features(sample, "linear"), sample.num_classes);
  return {{}, {}, [head](const torch::Tensor& inputs, Mode) { return head(inputs.flatten(1)); }};
}

HostBody build_mlp_host(ModuleScope scope, const config::HostConfig& config, const leyline::SampleShape& sample) {
  require_config(!config.hidden.empty(), "host.hidden: an mlp needs at least one hidden layer; without one use linear");
  const std::int64_t inputs = num_features(sample, "mlp");
  std::int64_t width = inputs;
  HostBody body;
  body.sites = slot_sites(config, sample);
  std::vector<Linear> blocks;
  for (const std::int64_t next : config.hidden) {
    blocks.push_back(make_linear(scope.child(fmt::format("block{}", blocks.size())).child("linear"), width, next));
    width = next;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool is_last = i + 1 == blocks.size();
    body.sites[i].taken_by = is_last ? "host.head" : fmt::format("host.block{}.linear", i + 1);
    const Widths around{i == 0 ? inputs : config.hidden[i - 1], is_last ? sample.num_classes : config.hidden[i + 1]};
    body.sites[i].hidden = hidden_dense(i, body.sites[i], around, config.dropout);
  }
  const Linear head = make_linear(scope.child("head"), width, sample.num_classes);
  body.block = [blocks, p = config.dropout](std::size_t slot, const SlotOutput& x, Mode mode) -> BlockOutput {
    const SlotOutput in = slot == 0 ? SlotOutput(x.feature.flatten(1)) : x;
    const torch::Tensor y = dropout(at::relu(through(blocks[slot], in)), p, mode);
    return {y, in.feature, y};
  };
  body.head = [head](const SlotOutput& x, Mode) { return through(head, x); };
  return body;
}

}  // namespace esper::kasmina
