#include "kasmina/host/residual_block.h"

#include <ATen/ops/relu.h>

namespace esper::kasmina {

torch::Tensor ResidualBlock::operator()(const torch::Tensor& x, Mode mode) const {
  const torch::Tensor inner = at::relu(norm1(conv1(x), mode));
  return at::relu(x + norm2(conv2(inner), mode));
}

ResidualBlock make_residual_block(ModuleScope scope, std::int64_t channels) {
  return {make_conv2d(scope.child("conv1"), channels, channels, {.kernel = 3}),
          make_batch_norm(scope.child("norm1"), channels),
          make_conv2d(scope.child("conv2"), channels, channels, {.kernel = 3}),
          make_batch_norm(scope.child("norm2"), channels)};
}

HostBlock residual_block_of(const std::string& id, std::int64_t channels) {
  return {id, {"norm2"}, [channels](ModuleScope scope) -> FeatureMap { return make_residual_block(scope, channels); }};
}

}  // namespace esper::kasmina
