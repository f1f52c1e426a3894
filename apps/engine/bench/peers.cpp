#include "engine/bench/peers.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "config/writing/write.h"
#include "device/rng.h"
#include "embedded_peer.h"
#include "engine/bench/compute_settings.h"
#include "step/step_metrics.h"
#include "storage/safetensors/safetensors.h"

namespace esper::engine::bench {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kCheckSteps = 3;
// Compiling each way of updating, and on CUDA measuring kernels for each matrix product, takes minutes without a cache.
constexpr seconds kOpenDeadline{90}, kReadyDeadline{480}, kRunDeadline{60};

void add_tensor(const std::string& name, const torch::Tensor& tensor, std::vector<torch::Tensor>& held,
                std::vector<storage::TensorView>& views) {
  held.push_back(tensor.detach().cpu().contiguous());
  const torch::Tensor& kept = held.back();
  ESPER_CHECK(kept.scalar_type() == torch::kFloat32 || kept.scalar_type() == torch::kInt64, "numbers or indices");
  views.push_back({name, kept.scalar_type() == torch::kFloat32 ? storage::Dtype::kF32 : storage::Dtype::kI64,
                   kept.sizes().vec(), std::span(static_cast<const std::byte*>(kept.const_data_ptr()), kept.nbytes())});
}

// The network at the run's start and the microbatches of all steps.
void write_tensors(const Workload& workload, const std::string& path) {
  std::vector<torch::Tensor> held;
  std::vector<storage::TensorView> views;
  const auto model = fresh_model(workload);
  for (const auto& group : model->network.parameter_groups()) {
    for (const auto& [id, tensor] : group.parameters) add_tensor(id, tensor, held, views);
  }
  for (const auto& [id, tensor] : model->network.buffers()) add_tensor(id, tensor, held, views);
  for (std::size_t i = 0; i < workload.steps.size(); ++i) {
    for (std::size_t k = 0; k < workload.steps[i].size(); ++k) {
      const std::string name = fmt::format("step.{}.{}", i, k);
      add_tensor(name + ".inputs", workload.steps[i][k].inputs, held, views);
      add_tensor(name + ".targets", workload.steps[i][k].targets, held, views);
    }
  }
  write_peer_tensors(views, path);
}

json describe(const PeerTraining& training) {
  const Workload& workload = training.workload;
  const auto& config = workload.setup.config;
  const auto& sample = workload.setup.data.train.shape;
  const json resolved = json::parse(config::resolved_json(config).dump());
  return {{"host", resolved.at("host")},
          {"model", training.model.empty() ? "" : std::filesystem::absolute(training.model).string()},
          {"training", resolved.at("training")},
          {"accumulation", config.step.accumulation},
          {"compile_mode", resolved.at("step").at("compile").at("mode")},
          {"seed", config.seed},
          {"device", workload.setup.device.str()},
          {"settings", compute_settings(workload.setup.settings, workload.setup.device)},
          {"sample",
           {{"features", sample.features},
            {"channels", sample.channels},
            {"height", sample.height},
            {"width", sample.width},
            {"context", sample.context},
            {"num_classes", sample.num_classes}}}};
}

// Our own losses of the first steps, without dropout, as the peer reports its own.
std::vector<double> our_losses(const Workload& workload) {
  config::RunConfig config = workload.setup.config;
  config.host.dropout = 0;
  device::seed_all(config.seed);
  const auto model =
      step::build_model(config, workload.setup.data.train.shape, workload.setup.settings, workload.setup.device);
  step::set_learning_rate(model->state, config.training.optimizer.lr);
  const auto forward = step::training_forward(model->network);
  std::vector<double> losses;
  for (std::size_t i = 0; i < kCheckSteps; ++i) {
    const auto& microbatches = workload.steps[i % workload.steps.size()];
    step::train_step(model->state, model->settings, microbatches, forward);
    losses.push_back(step::read_metrics(model->state).loss);
  }
  return losses;
}

void check_same_training(const Workload& workload, const json& answer) {
  const json settings = compute_settings(workload.setup.settings, workload.setup.device);
  if (answer.at("settings") != settings) {
    throw std::runtime_error(
        fmt::format("its settings are {}, ours are {}", answer.at("settings").dump(), settings.dump()));
  }
  std::int64_t parameters = 0;
  const auto model = fresh_model(workload);
  for (const auto& parameter : model->state.parameters) parameters += parameter.numel();
  if (answer.at("parameters").get<std::int64_t>() != parameters) {
    throw std::runtime_error(fmt::format("it built a different network: {} parameters, ours has {}",
                                         answer.at("parameters").dump(), parameters));
  }
  if (answer.at("losses").is_null()) return;
  const double tolerance = workload.setup.settings.compute_type == torch::kFloat32 ? 2e-4 : 2e-2;
  const auto ours = our_losses(workload);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double theirs = answer.at("losses").at(i).get<double>();
    if (std::abs(theirs - ours[i]) <= tolerance * std::max(1.0, std::abs(ours[i]))) continue;
    throw std::runtime_error(fmt::format("its loss differs: {:f} at step {}, ours is {:f}", theirs, i + 1, ours[i]));
  }
}

void add_row(PeerRow& row, const PeerTraining& training, const Scratch& scratch, const PythonFacts& python,
             Peers& peers) {
  const auto [process, opened] = open_peer(row.name, training, scratch, python);
  const json made = answer_of(*process, {{"do", row.name}}, kReadyDeadline);
  row.optimizer = made.at("optimizer");
  peers.settings = opened.at("settings");
  peers.contenders.push_back(peer_contender(row.name, process, made.at("warmup_ms").get<double>()));
}

}  // namespace

std::string peer_obstacle(const PeerTraining& trained) {
  const Workload& workload = trained.workload;
  if (workload.setup.config.host.kind == config::HostKind::kExported && trained.model.empty()) {
    return "name the model that was imported: --peer-model MODULE.py:NAME";
  }
  if (!workload.setup.config.host.modules.empty()) return "the peer has no modules in slots";
  const auto& training = workload.setup.config.training;
  if (training.loss != config::LossKind::kCrossEntropy || !training.class_weights.empty())
    return "the peer has no loss but cross entropy, without class weights";
  if (training.ema_decay > 0) return "the peer has no parameter averaging";
  if (!training.groups.empty() || !training.decay_norms_and_biases)
    return "the peer has one learning rate and weight decay for all parameters";
  return {};
}

void write_peer_files(const Workload& workload, const Scratch& scratch) {
  write_tensors(workload, scratch.path("peer.safetensors"));
  std::ofstream(scratch.path("peer.py")) << kPeerProgram;
}

OpenedPeer open_peer(const std::string& name, const PeerTraining& training, const Scratch& scratch,
                     const PythonFacts& python) {
  OpenedPeer peer;
  peer.process = std::make_shared<JsonProcess>(std::vector<std::string>{python.path, "-I", scratch.path("peer.py")},
                                               scratch.path(name + ".log"));
  const json question = {{"do", "open"},
                         {"workload", describe(training)},
                         {"tensors", scratch.path("peer.safetensors")},
                         {"check_steps", kCheckSteps}};
  peer.answer = answer_of(*peer.process, question, kOpenDeadline);
  check_same_training(training.workload, peer.answer);
  return peer;
}

void write_peer_tensors(const std::vector<storage::TensorView>& tensors, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  storage::write_safetensors(tensors, {}, [&](storage::Bytes bytes) {
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  });
  if (!file.flush()) throw std::runtime_error("the scratch folder has no room for the peer's tensors");
}

json answer_of(JsonProcess& process, const json& question, std::chrono::milliseconds deadline) {
  json answer = process.ask(question, deadline);
  if (answer.contains("error")) throw std::runtime_error(answer["error"].get<std::string>());
  return answer;
}

Contender peer_contender(std::string name, std::shared_ptr<JsonProcess> process, double warmup_ms) {
  const auto run = [process = std::move(process)](int steps, std::vector<double>& out_us) {
    const json answer = answer_of(*process, {{"do", "run"}, {"steps", steps}}, kRunDeadline);
    const auto times = answer.at("us").get<std::vector<double>>();
    if (times.empty()) throw std::runtime_error("it timed no step");
    out_us.insert(out_us.end(), times.begin(), times.end());
  };
  return {std::move(name), run, warmup_ms};
}

Peers open_peers(const PeerTraining& training, const Scratch& scratch, const PythonFacts& python) {
  Peers peers;
  std::string obstacle = peer_obstacle(training);
  if (obstacle.empty()) obstacle = python.problem;
  for (const char* name : {"python_eager", "python_compiled"}) peers.rows.push_back({name, "", obstacle});
  if (training.workload.setup.device.is_cuda()) peers.rows.push_back({"python_max_autotune", "", obstacle});
  if (!obstacle.empty()) return peers;
  write_peer_files(training.workload, scratch);
  for (PeerRow& row : peers.rows) {
    try {
      add_row(row, training, scratch, python, peers);
    } catch (const std::exception& error) {
      row.refusal = error.what();
    }
  }
  return peers;
}

}  // namespace esper::engine::bench
