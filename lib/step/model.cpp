#include "step/model.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <exception>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/joined.h"
#include "base/text/json_fields.h"
#include "config/entries/slot_classes.h"
#include "config/facts/exported_host.h"
#include "device/out_of_memory.h"
#include "step/batch_statistics.h"
#include "step/copied_moments.h"

namespace esper::step {
namespace {

using kasmina::NamedTensor;

constexpr char kCpuRng[] = "rng.cpu";
constexpr char kCudaRng[] = "rng.cuda";

void append(std::vector<NamedTensor>& to, const std::vector<NamedTensor>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string describe(const torch::Tensor& tensor) {
  return fmt::format("{} [{}]", torch::toString(tensor.scalar_type()), base::joined(tensor.sizes()));
}

// That the saved tensors are those of the model.
base::Expected<void> check_saved(const std::vector<NamedTensor>& expected,
                                 const std::map<std::string, torch::Tensor>& saved) {
  for (const auto& [id, tensor] : expected) {
    const auto found = saved.find(id);
    if (found == saved.end()) return base::failure("tensor " + id + " is missing");
    if (found->second.sizes() != tensor.sizes() || found->second.scalar_type() != tensor.scalar_type()) {
      return base::failure(
          fmt::format("tensor {} is {}, the network's is {}", id, describe(found->second), describe(tensor)));
    }
  }
  if (saved.size() != expected.size()) return base::failure("it has tensors that this network does not have");
  return {};
}

// In checkpoints of earlier versions a seed in the shadow has no loss scale of its own: theirs was that of all.
void add_scales_of_shadows(const std::vector<NamedTensor>& expected, std::map<std::string, torch::Tensor>& saved) {
  for (const std::string name : {"scaler.scale", "scaler.growth_tracker"}) {
    const auto shared = saved.find(name);
    if (shared == saved.end()) continue;
    for (const auto& [id, tensor] : expected) {
      if (id.starts_with(name + ".")) saved.emplace(id, shared->second);
    }
  }
}

bool is_opening(const GroupState& group, const kasmina::ParameterGroup& seed) {
  return seed.learns && group.lr_scale.item<float>() == 0;
}

// With data of some kinds the number of classes is known only now.
void check_classes(const config::AggregationConfig& config, std::int64_t num_classes) {
  std::string text;
  for (const auto& [line, why] : config::absent_classes(config.classes, num_classes)) {
    if (!text.empty()) text += "\n";
    text.append("growth.aggregation.classes[").append(std::to_string(line)).append("]: ").append(why);
  }
  if (!text.empty()) throw base::Error(base::ExitCode::kConfig, text);
}

void check_class_weights(const LossSettings& loss, std::int64_t num_classes) {
  const auto count = static_cast<std::int64_t>(loss.class_weights.size());
  if (count == 0 || count == num_classes) return;
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("training.class_weights: has {} weights, but the data have {} classes; give one for "
                                "each, in their order, or none",
                                count, num_classes));
}

// An imported language model may have more outputs than the data have tokens.
std::int64_t num_outputs(const config::HostConfig& host, const leyline::SampleShape& sample) {
  const bool may_differ = host.kind == config::HostKind::kExported && sample.kind == leyline::SampleKind::kTokens;
  if (!may_differ) return sample.num_classes;
  const auto exported = config::read_exported_host(host.path);
  return exported ? exported->output.back() : sample.num_classes;  // building the network reports the failure
}

// No target is an output beyond the data's tokens: it weighs 1, as without weights.
StepSettings with_all_weights(StepSettings settings, const config::HostConfig& host,
                              const leyline::SampleShape& sample) {
  auto& weights = settings.loss.class_weights;
  if (!weights.empty()) weights.resize(static_cast<std::size_t>(num_outputs(host, sample)), 1.0);
  return settings;
}

}  // namespace

std::unique_ptr<Model> build_model(const config::RunConfig& config, const leyline::SampleShape& sample,
                                   const StepSettings& settings, torch::Device device) {
  check_classes(config.growth.aggregation, sample.num_classes);
  check_class_weights(settings.loss, sample.num_classes);
  const auto fitted = with_all_weights(settings, config.host, sample);
  auto model = std::unique_ptr<Model>(
      new Model{{config.host, config.growth, sample, config.seed, device}, fitted, make_step_state(fitted, device)});
  check_rules(settings.rules, model->network.state().host.tensors.parameters);
  follow_structure(*model);
  return model;
}

TrainingForward training_forward(const kasmina::Network& network) {
  return [&network](const torch::Tensor& inputs, kasmina::SlotTaps* taps) {
    if (taps == nullptr) return network.forward(inputs, kasmina::Mode::kTrain);
    torch::Tensor output;
    *taps = network.tap(inputs, kasmina::Mode::kTrain, output);
    return output;
  };
}

StructureChange follow_structure(Model& model) {
  if (model.state.loss_scale.enabled()) model.state.statistics = running_statistics(model.network);
  return sync_groups(model.state, model.settings, model.network.parameter_groups());
}

void follow_training_gates(Model& model) {
  const torch::NoGradGuard no_grad;
  for (const auto& seed : model.network.parameter_groups()) {
    if (!seed.training_gate.defined()) continue;
    for (auto& group : model.state.groups) {
      if (group.id != seed.id) continue;
      if (is_opening(group, seed)) {
        // While the gate was closed decay went on filling the moments.
        restart_optimizer(group);
        StructureChange reported_at_birth;
        copy_moments(model.state, seed.copies, reported_at_birth);
      }
      group.lr_scale.copy_(seed.training_gate);
    }
  }
}

std::vector<NamedTensor> model_tensors(const Model& model) {
  std::vector<NamedTensor> tensors;
  append(tensors, model.network.buffers());
  append(tensors, model.network.scalars());
  append(tensors, named_tensors(model.state));
  return tensors;
}

std::vector<NamedTensor> rng_tensors(const device::RngState& rng) {
  std::vector<NamedTensor> tensors = {{kCpuRng, rng.cpu}};
  if (rng.cuda.defined()) tensors.push_back({kCudaRng, rng.cuda});
  return tensors;
}

std::vector<NamedTensor> all_tensors(const Model& model, torch::Device device) {
  auto tensors = model_tensors(model);
  append(tensors, rng_tensors(device::rng_state(device)));
  return tensors;
}

base::Expected<void> restore_model(Model& model, const nlohmann::json& topology,
                                   const std::vector<NamedTensor>& tensors, torch::Device device) {
  std::map<std::string, torch::Tensor> saved;
  for (const auto& [id, tensor] : tensors) {
    if (!id.starts_with(kRunTensors) && !id.starts_with(kAveragedTensors)) saved.emplace(id, tensor);
  }
  device::RngState rng;
  if (const auto found = saved.extract(kCpuRng)) rng.cpu = found.mapped();
  if (const auto found = saved.extract(kCudaRng)) rng.cuda = found.mapped();
  if (!rng.cpu.defined()) return base::failure("it has no state of the random number generator");
  try {
    model.network.restore_topology(topology);
    follow_structure(model);
    const auto expected = model_tensors(model);
    add_scales_of_shadows(expected, saved);
    if (auto checked = check_saved(expected, saved); !checked) return checked;
    const torch::NoGradGuard no_grad;
    for (const auto& [id, tensor] : expected) tensor.detach().copy_(saved.at(id));
    device::set_rng_state(device, rng);
  } catch (const std::exception& error) {
    if (!device::out_of_memory_message(error).empty()) throw;
    return base::failure("its topology does not fit this configuration: " + base::plain_reason(error));
  }
  return {};
}

}  // namespace esper::step
