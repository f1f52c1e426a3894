#pragma once
// The initial network, with slots after its blocks where modules may grow. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/host_config.h"
#include "kasmina/tensor/mode.h"
#include "kasmina/tensor/tensor_table.h"
#include "leyline/blueprint/feature_shape.h"
#include "leyline/blueprint/sample_shape.h"

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

// Further units of a hidden layer: from what its units are computed from to their values, and the columns of the next
// layer's weight for them.
struct FurtherUnits {
  FeatureMap units;
  torch::Tensor outlet;
};

// A hidden layer of the host that can get more units, and how they are made.
struct HiddenLayer {
  enum class Outlet { kNextBlock, kFeature };  // where the next layer's output goes
  std::string units = {};   // "host.block0": its units' tensors have the ids "<units>.<name>", with a row for each unit
  std::string outlet = {};  // "host.block1.linear.weight": the next layer's weight, with a column for each unit
  std::int64_t width = 0;
  Outlet leads_to = Outlet::kNextBlock;
  // `count` units with the parameters' names under `scope`, and the outlet as "outlet.weight".
  std::function<FurtherUnits(ModuleScope scope, std::int64_t count)> build = {};
};

struct SlotSite {
  std::string id;  // "r<row>c<column>"; hosts have one row, column counts along the network
  FeatureShape shape;
  // Of an imported network: the module of the model that ends there, "layer3.0".
  std::string path = {};
  // Id of the layer that alone consumes the slot's output, if that layer is linear and has no other input (a mean over
  // height and width may come before it); else empty. Its weight is "<id>.weight", its bias, if any, "<id>.bias". A
  // linear map at the slot can be folded into it.
  std::string taken_by = {};
  // The block that ends at the slot, if a second one can follow it.
  std::optional<HostBlock> block = {};
  // The layer of that block that can be widened, if there is one.
  std::optional<HiddenLayer> hidden = {};
};

// A value beside the feature that a later block reads: a skip connection, a mask.
struct Carried {
  torch::Tensor tensor;
  std::int64_t rows = -1;  // its dimension that counts the batch's rows, or a multiple of them; -1: none does
};

// What leaves a block. Made from a feature and read as one where nothing else of it matters.
struct BlockOutput {
  BlockOutput(torch::Tensor plain);  // NOLINT(google-explicit-constructor)
  BlockOutput(torch::Tensor plain, torch::Tensor hidden_inlet, torch::Tensor hidden_units);
  operator const torch::Tensor&() const { return feature; }  // NOLINT(google-explicit-constructor)

  torch::Tensor feature;
  torch::Tensor inlet, units;  // of the hidden layer: what its units are computed from, and their values
  std::vector<Carried> carried = {};
};

// What leaves a slot, alike.
struct SlotOutput {
  SlotOutput(torch::Tensor plain);  // NOLINT(google-explicit-constructor)
  SlotOutput(torch::Tensor plain, torch::Tensor further_units, torch::Tensor columns);
  operator const torch::Tensor&() const { return feature; }  // NOLINT(google-explicit-constructor)

  torch::Tensor feature;
  torch::Tensor units;                // further units of the block before, or undefined
  torch::Tensor weight;               // the next layer's columns for them
  std::vector<Carried> carried = {};  // empty: as they left the block
};

// Called after each block with the slot's index into `sites`; returns what the next block gets.
using SlotHook = std::function<SlotOutput(std::size_t slot, const BlockOutput& from)>;

// The ids of a host's tensors, in order of creation:
//   linear       host.head.{weight,bias}
//   mlp          host.block<i>.linear.{weight,bias}, host.head.{weight,bias}
//   cnn          host.block<i>.conv.weight, host.block<i>.norm.{weight,bias,running_mean,running_var,
//                num_batches_tracked}, then host.block<i>.residual<j>.{conv1,norm1,conv2,norm2}, as conv and norm;
//                host.head.{weight,bias}
//   transformer  host.tokens.weight (also the head), host.positions.weight, host.layer<i>.{norm1,norm2}.{weight,bias},
//                host.layer<i>.attention.{qkv,proj}.{weight,bias}, host.layer<i>.mlp.{up,down}.{weight,bias},
//                host.norm.{weight,bias}
//   exported     host.<name of the model's parameter or buffer>
struct Host {
  TensorTable tensors;
  std::vector<SlotSite> sites;  // linear: none, so it cannot grow
  // The block before a slot; the first one takes the inputs.
  std::function<BlockOutput(std::size_t slot, const SlotOutput& x, Mode mode)> block;
  // From what leaves the last slot, or from the inputs where there is none, to the logits.
  std::function<torch::Tensor(const SlotOutput& x, Mode mode)> head;
  // Of an imported network, by the id of a running mean or variance; those that are missing are moved by no batch norm.
  // None: all move by kBatchNormMomentum.
  std::optional<std::map<std::string, double>> norm_momenta = {};
  std::string no_shadow = {};  // why no seed can train in the shadow of this network; empty: it can

  // inputs: float32 [B, F] or [B, C, H, W], int64 [B, T]; returns logits [B, classes], [B, T, classes] for tokens.
  torch::Tensor forward(const torch::Tensor& inputs, Mode mode, const SlotHook& hook) const;
  // The part of forward() behind a slot, whose output is `x`.
  torch::Tensor forward_from(std::size_t slot, SlotOutput x, Mode mode, const SlotHook& hook) const;
};

// Throws Error{kConfig} if the host does not fit the sample (an image host on flat features, too many poolings, ...),
// kData where an imported network's files are not what was written. named: growth.slots, which chooses an imported
// network's slots.
Host build_host(const config::HostConfig& config, const leyline::SampleShape& sample, std::uint64_t run_seed,
                torch::Device device, const std::vector<std::string>& named = {});

}  // namespace esper::kasmina
