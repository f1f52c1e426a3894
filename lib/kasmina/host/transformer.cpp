// A decoder: learned positions, pre-norm layers of causal attention and a GELU MLP of four times the width, a final
// norm, and the token embedding as head. The layers are cut into segments with a slot after each.
// Start as in GPT-2 (Radford et al. 2019): normal with deviation 0.02, the projections that end on the residual path
// scaled down by sqrt(2 * layers), biases zero. PyTorch's N(0, 1) embedding would make a tied head's logits useless.

#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <fmt/core.h>

#include <cmath>
#include <memory>

#include "kasmina/host/hosts.h"
#include "kasmina/tensor/layers.h"
#include "leyline/blueprint/blueprint_sizes.h"

namespace esper::kasmina {
namespace {

constexpr double kInitDeviation = 0.02;

struct Layer {
  LayerNorm norm1;
  SelfAttention attention;
  LayerNorm norm2;
  Linear up, down;
  double dropout_p = 0;

  BlockOutput operator()(const torch::Tensor& x, Mode mode) const {
    const torch::Tensor y = x + dropout(attention(norm1(x), mode), dropout_p, mode);
    const torch::Tensor inlet = norm2(y);
    const torch::Tensor units = at::gelu(up(inlet));
    return {y + dropout(down(units), dropout_p, mode), inlet, units};
  }
};

struct Decoder {
  Embedding tokens, positions;
  std::vector<Layer> layers;
  std::vector<std::size_t> segment_ends;  // one past each segment's last layer
  LayerNorm norm;
  double dropout_p = 0;

  torch::Tensor embed(const torch::Tensor& inputs, Mode mode) const {
    return dropout(tokens(inputs) + positions.weight.narrow(0, 0, inputs.size(1)), dropout_p, mode);
  }
  BlockOutput segment(std::size_t index, const torch::Tensor& inputs, Mode mode) const {
    BlockOutput x = index == 0 ? embed(inputs, mode) : inputs;
    for (std::size_t layer = index == 0 ? 0 : segment_ends[index - 1]; layer < segment_ends[index]; ++layer) {
      x = layers[layer](x, mode);
    }
    return x;
  }
  torch::Tensor head(const torch::Tensor& x) const { return at::linear(norm(x), tokens.weight); }
};

constexpr LinearOptions kInner{.weight_init = Init{Init::Kind::kNormal, kInitDeviation}, .bias_init = kZeros};

// Of weights whose output is added on the residual path.
Init outer_init(const config::HostConfig& config) {
  return {Init::Kind::kNormal, kInitDeviation / std::sqrt(2.0 * static_cast<double>(config.layers))};
}

Layer make_layer(ModuleScope scope, const config::HostConfig& config) {
  const auto width = config.embedding;
  const LinearOptions outer{.weight_init = outer_init(config), .bias_init = kZeros};
  const ModuleScope attention = scope.child("attention"), mlp = scope.child("mlp");
  Layer layer;
  layer.norm1 = make_layer_norm(scope.child("norm1"), width);
  layer.attention = {make_linear(attention.child("qkv"), width, 3 * width, kInner),
                     make_linear(attention.child("proj"), width, width, outer), config.heads, config.dropout};
  layer.norm2 = make_layer_norm(scope.child("norm2"), width);
  layer.up = make_linear(mlp.child("up"), width, leyline::token_mlp_width(width), kInner);
  layer.down = make_linear(mlp.child("down"), leyline::token_mlp_width(width), width, outer);
  layer.dropout_p = config.dropout;
  return layer;
}

HostBlock block_of(const config::HostConfig& config, std::size_t layer) {
  return {fmt::format("host.layer{}", layer),
          {"attention.proj", "mlp.down"},
          [config](ModuleScope scope) -> FeatureMap { return make_layer(scope, config); }};
}

// The MLP of a layer.
HiddenLayer hidden_mlp(const config::HostConfig& config, std::size_t layer) {
  const std::string mlp = fmt::format("host.layer{}.mlp", layer);
  HiddenLayer hidden{mlp, mlp + ".down.weight", leyline::token_mlp_width(config.embedding)};
  hidden.leads_to = HiddenLayer::Outlet::kFeature;
  hidden.build = [config](ModuleScope scope, std::int64_t count) -> FurtherUnits {
    const Linear up = make_linear(scope.child("up"), config.embedding, count, kInner);
    return {[up](const torch::Tensor& x, Mode) { return at::gelu(up(x)); },
            scope.child("outlet").parameter("weight", {config.embedding, count}, outer_init(config))};
  };
  return hidden;
}

void check_transformer_fit(const config::HostConfig& config, const leyline::SampleShape& sample) {
  require_config(sample.kind == leyline::SampleKind::kTokens,
                 "host.kind: transformer takes text (data.kind: text); for numbers use mlp, for images cnn");
  require_config(config.embedding % config.heads == 0,
                 fmt::format("host.heads: {} does not divide host.embedding {}", config.heads, config.embedding));
  require_config(config.segments <= config.layers,
                 fmt::format("host.segments: {} is more than host.layers, {}", config.segments, config.layers));
}

}  // namespace

HostBody build_transformer_host(ModuleScope scope, const config::HostConfig& config,
                                const leyline::SampleShape& sample) {
  check_transformer_fit(config, sample);
  const Init start{Init::Kind::kNormal, kInitDeviation};
  Decoder decoder;
  decoder.dropout_p = config.dropout;
  decoder.tokens = make_embedding(scope.child("tokens"), sample.num_classes, config.embedding, start);
  decoder.positions = make_embedding(scope.child("positions"), sample.context, config.embedding, start);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    decoder.layers.push_back(make_layer(scope.child(fmt::format("layer{}", i)), config));
  }
  decoder.norm = make_layer_norm(scope.child("norm"), config.embedding);
  HostBody body;
  body.sites = slot_sites(config, sample);
  for (std::int64_t s = 0; s < config.segments; ++s) {
    const auto end = static_cast<std::size_t>((s + 1) * config.layers / config.segments);
    decoder.segment_ends.push_back(end);
    SlotSite& site = body.sites[static_cast<std::size_t>(s)];
    site.block = block_of(config, end - 1);
    site.hidden = hidden_mlp(config, end - 1);
  }
  const auto built = std::make_shared<const Decoder>(std::move(decoder));
  body.block = [built](std::size_t slot, const torch::Tensor& x, Mode mode) { return built->segment(slot, x, mode); };
  body.head = [built](const torch::Tensor& x, Mode) { return built->head(x); };
  return body;
}

}  // namespace esper::kasmina
