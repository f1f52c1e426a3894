#include "kasmina/host/host.h"

#include <ATen/ops/linear.h>
#include <c10/util/accumulate.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "config/facts/slot_geometry.h"
#include "kasmina/host/hosts.h"

namespace esper::kasmina {
namespace {

HostBody build_body(ModuleScope scope, const HostPlan& plan) {
  const auto& [config, sample, named, device] = plan;
  switch (config.kind) {
    case config::HostKind::kLinear:
      return build_linear_host(scope, sample);
    case config::HostKind::kMlp:
      return build_mlp_host(scope, config, sample);
    case config::HostKind::kCnn:
      return build_cnn_host(scope, config, sample);
    case config::HostKind::kTransformer:
      return build_transformer_host(scope, config, sample);
    case config::HostKind::kExported:
      return build_exported_host(scope, plan);
  }
  ESPER_CHECK(false, "a host of unknown kind");
  return {};
}

SlotOutput through_slot(std::size_t slot, BlockOutput from, const SlotHook& hook) {
  SlotOutput x = hook(slot, from);
  if (x.carried.empty()) x.carried = std::move(from.carried);
  return x;
}

}  // namespace

BlockOutput::BlockOutput(torch::Tensor plain) : feature(std::move(plain)) {}
BlockOutput::BlockOutput(torch::Tensor plain, torch::Tensor hidden_inlet, torch::Tensor hidden_units)
    : feature(std::move(plain)), inlet(std::move(hidden_inlet)), units(std::move(hidden_units)) {}

SlotOutput::SlotOutput(torch::Tensor plain) : feature(std::move(plain)) {}
SlotOutput::SlotOutput(torch::Tensor plain, torch::Tensor further_units, torch::Tensor columns)
    : feature(std::move(plain)), units(std::move(further_units)), weight(std::move(columns)) {}

std::vector<SlotSite> slot_sites(const config::HostConfig& config, const leyline::SampleShape& sample) {
  std::vector<SlotSite> sites;
  for (auto& slot : config::slot_geometry(config, sample)) sites.push_back({std::move(slot.id), slot.shape});
  return sites;
}

void require_config(bool holds, const std::string& text) {
  if (!holds) throw base::Error(base::ExitCode::kConfig, text);
}

Host build_host(const config::HostConfig& config, const leyline::SampleShape& sample, std::uint64_t run_seed,
                torch::Device device, const std::vector<std::string>& named) {
  ESPER_CHECK(sample.num_classes > 0, "the number of classes follows from the data set");
  Host host;
  HostBody body = build_body(ModuleScope(host.tensors, "host", run_seed, device), {config, sample, named, device});
  host.sites = std::move(body.sites);
  host.block = std::move(body.block);
  host.head = std::move(body.head);
  host.no_shadow = std::move(body.no_shadow);
  host.norm_momenta = std::move(body.norm_momenta);
  return host;
}

torch::Tensor through(const Linear& layer, const SlotOutput& x) {
  const torch::Tensor y = layer(x.feature);
  return x.units.defined() ? y + at::linear(x.units, x.weight) : y;
}

torch::Tensor make_outlet(ModuleScope units, torch::IntArrayRef shape, std::int64_t width) {
  const auto fan_in = (shape[1] + width) * c10::multiply_integers(shape.slice(2));
  return units.child("outlet").parameter("weight", shape,
                                         {Init::Kind::kUniform, 1 / std::sqrt(static_cast<double>(fan_in))});
}

torch::Tensor Host::forward(const torch::Tensor& inputs, Mode mode, const SlotHook& hook) const {
  return sites.empty() ? head(inputs, mode)
                       : forward_from(0, through_slot(0, block(0, inputs, mode), hook), mode, hook);
}

torch::Tensor Host::forward_from(std::size_t slot, SlotOutput x, Mode mode, const SlotHook& hook) const {
  for (std::size_t next = slot + 1; next < sites.size(); ++next) {
    x = through_slot(next, block(next, x, mode), hook);
  }
  return head(x, mode);
}

}  // namespace esper::kasmina
