#pragma once
// The initial network, with slots after its blocks where modules may grow. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/host_config.h"
#include "kasmina/mode.h"
#include "kasmina/tensor_table.h"
#include "leyline/feature_shape.h"
#include "leyline/sample_shape.h"

namespace esper::kasmina {

using leyline::FeatureKind;
using leyline::FeatureShape;

// From a feature to one of the same shape.
using FeatureMap = std::function<torch::Tensor(const torch::Tensor& feature, Mode mode)>;

// A residual block of the host, as what copies of it are made from.
struct HostBlock {
  std::string id;                            // "host.layer1": its parameters' ids are "<id>.<name>"
  std::vector<std::string> residual_layers;  // "attention.proj": its layers whose outputs are added to the feature
  // Another block of the kind, with the parameters' names under `scope` and values drawn as the host's are.
  std::function<FeatureMap(ModuleScope scope)> build;
};

struct SlotSite {
  std::string id;  // "r<row>c<column>"; hosts have one row, column counts along the network
  FeatureShape shape;
  // Id of the layer that alone consumes the slot's output, if that layer is linear and has no other input (a mean over
  // height and width may come before it); else empty. Its weight is "<id>.weight", its bias, if any, "<id>.bias". A
  // linear map at the slot can be folded into it.
  std::string taken_by = {};
  // The block that ends at the slot, if a second one can follow it.
  std::optional<HostBlock> block = {};
};

// Called after each block with the slot's index into `sites`; returns the feature for the next block.
using SlotHook = std::function<torch::Tensor(std::size_t slot, const torch::Tensor& feature)>;

// The ids of a host's tensors, in order of creation:
//   linear       host.head.{weight,bias}
//   mlp          host.block<i>.linear.{weight,bias}, host.head.{weight,bias}
//   cnn          host.block<i>.conv.weight, host.block<i>.norm.{weight,bias,running_mean,running_var,
//                num_batches_tracked}, then host.block<i>.residual<j>.{conv1,norm1,conv2,norm2}, as conv and norm;
//                host.head.{weight,bias}
//   transformer  host.tokens.weight (also the head), host.positions.weight, host.layer<i>.{norm1,norm2}.{weight,bias},
//                host.layer<i>.attention.{qkv,proj}.{weight,bias}, host.layer<i>.mlp.{up,down}.{weight,bias},
//                host.norm.{weight,bias}
struct Host {
  TensorTable tensors;
  std::vector<SlotSite> sites;  // linear: none, so it cannot grow
  // The block before a slot; the first one takes the inputs.
  std::function<torch::Tensor(std::size_t slot, const torch::Tensor& x, Mode mode)> block;
  // From what leaves the last slot, or from the inputs where there is none, to the logits.
  std::function<torch::Tensor(const torch::Tensor& x)> head;

  // inputs: float32 [B, F] or [B, C, H, W], int64 [B, T]; returns logits [B, classes], [B, T, classes] for tokens.
  torch::Tensor forward(const torch::Tensor& inputs, Mode mode, const SlotHook& hook) const;
  // The part of forward() behind a slot, whose output is `x`.
  torch::Tensor forward_from(std::size_t slot, torch::Tensor x, Mode mode, const SlotHook& hook) const;
};

// Throws Error{kConfig} if the host does not fit the sample (an image host on flat features, too many poolings, ...).
Host build_host(const config::HostConfig& config, const leyline::SampleShape& sample, std::uint64_t run_seed,
                torch::Device device);

}  // namespace esper::kasmina
