#pragma once
// The builders of build_host(), one for each kind of host. They add tensors under `scope` and list the slots.

#include "kasmina/host/host.h"
#include "kasmina/tensor/layers.h"

namespace esper::kasmina {

// A host without its tensors, which are in the scope's table.
struct HostBody {
  std::vector<SlotSite> sites;
  decltype(Host::block) block;
  decltype(Host::head) head;
  std::string no_shadow = {};
  decltype(Host::norm_momenta) norm_momenta = {};
};

// As build_host() takes it.
struct HostPlan {
  const config::HostConfig& config;
  const leyline::SampleShape& sample;
  const std::vector<std::string>& named;
  torch::Device device;
};

HostBody build_linear_host(ModuleScope scope, const leyline::SampleShape& sample);
HostBody build_mlp_host(ModuleScope scope, const config::HostConfig& config, const leyline::SampleShape& sample);
HostBody build_cnn_host(ModuleScope scope, const config::HostConfig& config, const leyline::SampleShape& sample);
HostBody build_transformer_host(ModuleScope scope, const config::HostConfig& config,
                                const leyline::SampleShape& sample);
// Its parameters and buffers begin with the values that were imported.
HostBody build_exported_host(ModuleScope scope, const HostPlan& plan);

// The sites of config/facts/slot_geometry.h; the builder sets the layer that consumes each.
std::vector<SlotSite> slot_sites(const config::HostConfig& config, const leyline::SampleShape& sample);
// The layer's output, with the further units that come with the feature.
torch::Tensor through(const Linear& layer, const SlotOutput& x);
// "outlet.weight" of further units of a layer of that width: [out, units, ...], drawn as the columns of a layer over
// all units are.
torch::Tensor make_outlet(ModuleScope units, torch::IntArrayRef shape, std::int64_t width);
// Throws Error{kConfig}: the message names the field and a remedy.
void require_config(bool holds, const std::string& text);

}  // namespace esper::kasmina
