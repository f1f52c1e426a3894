// Blocks of convolution, batch norm, ReLU, (the first pool_layers of them) a 2x2 max-pool, and residual blocks if there
// are to be any; a slot after each block; global average pool; linear head.

#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <fmt/core.h>

#include <algorithm>

#include "kasmina/host/hosts.h"
#include "kasmina/host/residual_block.h"
#include "kasmina/layers.h"

namespace esper::kasmina {
namespace {

enum class Pool { kYes, kNo };

struct Block {
  Conv2d conv;
  BatchNorm2d norm;
  Pool pool = Pool::kNo;
  std::vector<ResidualBlock> residual{};

  torch::Tensor operator()(const torch::Tensor& x, Mode mode) const {
    torch::Tensor y = at::relu(norm(conv(x), mode));
    if (pool == Pool::kYes) y = at::max_pool2d(y, 2);
    for (const ResidualBlock& part : residual) y = part(y, mode);
    return y;
  }
};

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
    blocks.push_back({make_conv2d(block.child("conv"), in, out, {.kernel = config.kernel}),
                      make_batch_norm(block.child("norm"), out), pool});
    for (std::int64_t j = 0; j < config.residual_blocks; ++j) {
      const std::string name = fmt::format("residual{}", j);
      blocks.back().residual.push_back(make_residual_block(block.child(name), out));
      body.sites[static_cast<std::size_t>(i)].block = residual_block_of(fmt::format("host.block{}.{}", i, name), out);
    }
    in = out;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    body.sites[i].taken_by = i + 1 < blocks.size() ? fmt::format("host.block{}.conv", i + 1) : "host.head";
  }
  const Linear head = make_linear(scope.child("head"), in, sample.num_classes);
  body.block = [blocks](std::size_t slot, const torch::Tensor& x, Mode mode) { return blocks[slot](x, mode); };
  body.head = [head](const torch::Tensor& x) { return head(x.mean({2, 3})); };
  return body;
}

}  // namespace esper::kasmina
