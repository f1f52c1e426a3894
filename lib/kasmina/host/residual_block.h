#pragma once
// The residual block of a cnn (host.residual_blocks): two convolutions with batch norm beside a path on which nothing
// happens, as in ResNet's basic block. It keeps the feature's shape, so that copies of it can follow it.

#include "kasmina/host/host.h"
#include "kasmina/tensor/layers.h"

namespace esper::kasmina {

// ReLU(x + norm2(conv2(ReLU(norm1(conv1(x)))))), 3 x 3. He et al. 2016. x is the output of a ReLU, so with norm2 at
// zero it is the identity.
struct ResidualBlock {
  Conv2d conv1;
  BatchNorm2d norm1;
  Conv2d conv2;
  BatchNorm2d norm2;
  torch::Tensor operator()(const torch::Tensor& x, Mode mode) const;
};
ResidualBlock make_residual_block(ModuleScope scope, std::int64_t channels);

// id: of the block's tensors in the host.
HostBlock residual_block_of(const std::string& id, std::int64_t channels);

}  // namespace esper::kasmina
