#include "kasmina/network.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kasmina/network/network_forward.h"
#include "kasmina/network/network_tensors.h"
#include "kasmina/network/network_topology.h"

namespace esper::kasmina {

Network::Network(const config::HostConfig& host, const config::GrowthConfig& growth, const leyline::SampleShape& sample,
                 std::uint64_t run_seed, torch::Device device)
    : state_(build_network(host, growth, sample, run_seed, device)) {}

torch::Tensor Network::forward(const torch::Tensor& inputs, Mode mode) const {
  return kasmina::forward(state_, inputs, mode);
}

SlotTaps Network::tap(const torch::Tensor& inputs, Mode mode, torch::Tensor& output) const {
  return kasmina::tap(state_, inputs, mode, output);
}

std::vector<ParameterGroup> Network::parameter_groups() const { return parameter_groups_of(state_); }

std::vector<NamedTensor> Network::buffers() const { return buffers_of(state_); }

std::vector<NamedTensor> Network::scalars() const { return scalars_of(state_); }

std::vector<LifecycleEvent> Network::apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                           std::uint64_t now_ns) {
  auto change = open_change();
  auto events = change.apply(command, probe, now_ns);
  change.commit();
  return events;
}

Change Network::open_change() {
  require_no_change();
  return {state_, is_changing_};
}

TakenWeights Network::take_weights(const std::string& path) {
  require_no_change();
  return kasmina::take_weights(state_.host.tensors, path);
}

EndedEpoch Network::end_epoch(const EpochFacts& facts) {
  require_no_change();
  return kasmina::end_epoch(state_, facts);
}

nlohmann::json Network::save_topology() const { return kasmina::save_topology(state_); }

void Network::restore_topology(const nlohmann::json& saved) {
  require_no_change();
  kasmina::restore_topology(state_, saved);
}

void Network::require_no_change() const {
  ESPER_CHECK(!is_changing_, "the network is being changed: commit or roll back that change first");
}

}  // namespace esper::kasmina
