#include "tamiyo/network/padded_network.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <fmt/core.h>

#include <map>
#include <utility>

#include "device/cuda_table.h"
#include "device/pinned_memory.h"
#include "device/precision.h"
#include "device/side_stream.h"
#include "tamiyo/network/bf16_products.h"

namespace esper::tamiyo {

PaddedNetwork::PaddedNetwork(const FoldedWeights& weights, const Caps& caps)
    : weights_(weights),
      graph_(weights, caps),
      output_(make_output(caps, weights.device())),
      host_output_(output_),
      forward_([this] { run_folded(weights_, graph_, output_); }) {
  if (weights.device().is_cpu()) return;
  stream_ = device::side_stream(weights.device(), device::SideStream::kPolicies);
  host_output_ = device::empty_pinned(output_.sizes(), at::kFloat);
  // The tensors above were filled on the stream of whoever made this.
  device::current_stream(weights.device()).synchronize();
}

void PaddedNetwork::forward() {
  const device::SteadyFp32 steady(weights_.device());
  const device::AutocastScope autocast(weights_.device().type(), weights_.autocast);
  forward_();
  if (!stream_) return;
  host_output_.copy_(output_, /*non_blocking=*/true);
  stream_->synchronize();
}

base::Expected<PolicyOutputs> PaddedNetwork::run(const HeteroGraph& graph) {
  const c10::InferenceMode inference;
  const c10::OptionalStreamGuard on_own_stream(stream_);
  if (auto filled = graph_.fill(graph); !filled) return base::failure(filled.error());
  forward();
  const auto count = [&graph](NodeType type) { return graph.nodes[static_cast<std::size_t>(type)].count; };
  return read_output(host_output_, graph_.caps(), count(NodeType::kSeed), count(NodeType::kBlueprint));
}

std::vector<program::ExternalTensor> PaddedNetwork::external_tensors() const {
  std::vector<program::ExternalTensor> external = {{"graph", graph_.all()}, {"output", output_}};
  for (int layer = kSageLayers; layer < kLayers; ++layer) {
    external.push_back({fmt::format("relation_of_row.{}", layer), graph_.relation_of_row(layer)});
    external.push_back({fmt::format("target_of_row.{}", layer), graph_.target_of_row(layer)});
  }
  for (const auto& [name, tensor] : named_tensors(weights_)) external.push_back({name, tensor});
  return external;
}

base::Expected<void> PaddedNetwork::record() {
  if (is_packed(weights_)) return base::failure("the network's packed weights cannot be recorded");
  const at::NoGradGuard no_grad;
  const c10::OptionalStreamGuard on_own_stream(stream_);
  const device::SteadyFp32 steady(weights_.device());
  const auto external = external_tensors();
  auto program = program::record(external, [this] { run_folded(weights_, graph_, output_); });
  if (!program) return base::failure(fmt::format("the network cannot be recorded: {}", program.error()));
  std::map<std::string, at::Tensor> by_name;
  for (const auto& tensor : external) by_name.emplace(tensor.name, tensor.tensor);
  inputs_.clear();
  for (const program::Input& input : program->inputs) inputs_.push_back(by_name.at(input.name));
  program_ = *std::move(program);
  replay_ = std::make_unique<program::Replay>(program_, inputs_, std::span<const std::size_t>());
  replay();
  return {};
}

void PaddedNetwork::replay() {
  forward_ = [this] { replay_->run(); };
  form_ = NetworkForm::kReplay;
}

void PaddedNetwork::adopt(std::shared_ptr<const program::Package> package) {
  forward_ = [this, package = std::move(package)] { package->run(inputs_); };
  form_ = NetworkForm::kCompiled;
}

}  // namespace esper::tamiyo
