// Blocks of convolution, batch norm, ReLU, (the first pool_layers of them) a 2x2 max-pool, and residual blocks if there
// are to be any; a slot after each block; global average pool; linear head.

#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <fmt/core.h>

#include <algorithm>

#include "kasmina/host/hosts.h"
#include "kasmina/host/residual_block.h"
#include "kasmina/tensor/layers.h"

namespace esper::kasmina {
namespace {

enum class Pool { kYes, kNo };

struct Block {
  Conv2d conv;
  BatchNorm2d norm;
  Pool pool = Pool::kNo;
  std::vector<ResidualBlock> residual{};

  torch::Tensor operator()(const SlotOutput& x, Mode mode) const {
    torch::Tensor z = conv(x.feature);
    if (x.units.defined()) z = z + Conv2d{x.weight, conv.padding}(x.units);
    torch::Tensor y = at::relu(norm(z, mode));
    if (pool == Pool::kYes) y = at::max_pool2d(y, 2);
    for (const ResidualBlock& part : residual) y = part(y, mode);
    return y;
  }
};

Block make_block(ModuleScope scope, std::int64_t in, std::int64_t out, std::int64_t kernel, Pool pool) {
  return {make_conv2d(scope.child("conv"), in, out, {.kernel = kernel}), make_batch_norm(scope.child("norm"), out),
          pool};
}

// `block`: the host's own. outlet: the shape of the next layer's weight.
HiddenLayer hidden_conv(std::size_t index, const Block& block, const SlotSite& site, std::vector<std::int64_t> outlet) {
  HiddenLayer hidden{fmt::format("host.block{}", index), site.taken_by + ".weight", site.shape.channels};
  const auto in = block.conv.weight.size(1), kernel = block.conv.weight.size(2);
  hidden.build = [in, kernel, pool = block.pool, outlet, width = hidden.width](ModuleScope scope,
                                                                               std::int64_t count) -> FurtherUnits {
    const Block further = make_block(scope, in, count, kernel, pool);
    auto shape = outlet;
    shape[1] = count;
    return {[further](const torch::Tensor& x, Mode mode) { return further(x, mode); },
            make_outlet(scope, shape, width)};
  };
  return hidden;
}

// How often an edge can be halved, rounding down, before it is zero.
std::int64_t max_poolings(std::int64_t edge) {
  std::int64_t count = 0;
  for (; edge >= 2; edge /= 2) ++count;
  return count;
}

void check_cnn_fit(const config::HostConfig& config, const leyline::SampleShape& sample) {
  require_config(sample.kind == leyline::SampleKind::kImage,
                 "host.kind: cnn takes images, and the data's samples are not; set data.shape to [channels, height, "
                 "width], or use another host");
  require_config(
      config.kernel % 2 == 1,
      fmt::format("host.kernel: {} is even; use an odd kernel, which keeps the image's size", config.kernel));
  const std::int64_t poolings = std::min(config.blocks, config.pool_layers);
  const std::int64_t most = max_poolings(std::min(sample.height, sample.width));
  require_config(poolings <= most,
                 fmt::format("host.pool_layers: {} poolings leave nothing of {} x {} pixels; it must be <= {}",
                             poolings, sample.height, sample.width, most));
}

}  // namespace

HostBody build_cnn_host(ModuleScope scope, const config::HostConfig& config, const leyline::SampleShape& sample) {
  check_cnn_fit(config, sample);
  std::int64_t in = sample.channels;
  HostBody body;
  body.sites = slot_sites(config, sample);
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < config.blocks; ++i) {
    const ModuleScope block = scope.child(fmt::format("block{}", i));
    const Pool pool = i < config.pool_layers ? Pool::kYes : Pool::kNo;
    const std::int64_t out = body.sites[static_cast<std::size_t>(i)].shape.channels;
    blocks.push_back(make_block(block, in, out, config.kernel, pool));
    for (std::int64_t j = 0; j < config.residual_blocks; ++j) {
      const std::string name = fmt::format("residual{}", j);
      blocks.back().residual.push_back(make_residual_block(block.child(name), out));
      body.sites[static_cast<std::size_t>(i)].block = residual_block_of(fmt::format("host.block{}.{}", i, name), out);
    }
    in = out;
  }
  const Linear head = make_linear(scope.child("head"), in, sample.num_classes);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const bool is_last = i + 1 == blocks.size();
    body.sites[i].taken_by = is_last ? "host.head" : fmt::format("host.block{}.conv", i + 1);
    const torch::Tensor& next = is_last ? head.weight : blocks[i + 1].conv.weight;
    if (!blocks[i].residual.empty()) continue;  // its units would have to pass the residual blocks
    body.sites[i].hidden = hidden_conv(i, blocks[i], body.sites[i], next.sizes().vec());
  }
  body.block = [blocks](std::size_t slot, const SlotOutput& x, Mode mode) -> BlockOutput {
    const torch::Tensor y = blocks[slot](x, mode);
    return {y, x.feature, y};
  };
  body.head = [head](const SlotOutput& x, Mode) {
    const auto mean = [](const torch::Tensor& images) { return images.mean({2, 3}); };
    if (!x.units.defined()) return head(mean(x.feature));
    return through(head, {mean(x.feature), mean(x.units), x.weight});
  };
  return body;
}

}  // namespace esper::kasmina
