// Runs that Python torch recorded (scripts/record_parity.py), repeated by our hosts through train_step. The error of a
// tensor is its largest absolute difference, relative to the largest magnitude in it. Each is printed.

#include <ATen/Parallel.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "kasmina/host/host.h"
#include "kasmina/network.h"
#include "step/batch_statistics.h"
#include "step/train_step.h"
#include "support/recorded_tensors.h"

namespace esper::test::step_parity_test {

using namespace esper;
using nlohmann::json;

namespace {

constexpr double kFp32Tolerance = 1e-5;
// Halves have 11 bits, and one product that rounds the other way moves all later steps.
constexpr double kFp16Tolerance = 2e-3;

struct Recording {
  json spec;
  std::map<std::string, torch::Tensor> tensors;
};

Recording load(const std::string& name) {
  const auto [metadata, tensors] = load_recorded(name);
  return {json::parse(metadata.at("case")), tensors};
}

config::HostConfig host_of(const json& spec) {
  const json& h = spec.at("host");
  config::HostConfig config;
  for (const auto& [kind, name] : names(config.kind)) {
    if (name == h.at("kind")) config.kind = kind;
  }
  config.hidden = h.value("hidden", config.hidden);
  config.blocks = h.value("blocks", config.blocks);
  config.base_channels = h.value("base_channels", config.base_channels);
  config.kernel = h.value("kernel", config.kernel);
  config.pool_layers = h.value("pool_layers", config.pool_layers);
  config.layers = h.value("layers", config.layers);
  config.embedding = h.value("embedding", config.embedding);
  config.heads = h.value("heads", config.heads);
  config.segments = h.value("segments", config.segments);
  return config;
}

leyline::SampleShape sample_of(const json& spec) {
  const json& s = spec.at("sample");
  using Kind = leyline::SampleKind;
  const std::map<std::string, Kind> kinds = {
      {"features", Kind::kFeatures}, {"image", Kind::kImage}, {"tokens", Kind::kTokens}};
  leyline::SampleShape sample;
  sample.kind = kinds.at(s.at("kind"));
  sample.features = s.value("features", sample.features);
  sample.channels = s.value("channels", sample.channels);
  sample.height = s.value("height", sample.height);
  sample.width = s.value("width", sample.width);
  sample.context = s.value("context", sample.context);
  sample.num_classes = s.at("num_classes");
  return sample;
}

step::StepSettings settings_of(const json& spec) {
  step::StepSettings settings;
  const json& o = spec.at("optimizer");
  auto& optimizer = settings.optimizer;
  optimizer.kind = o.at("kind") == "sgd" ? config::OptimizerKind::kSgd : config::OptimizerKind::kAdamw;
  optimizer.lr = o.at("lr");
  optimizer.momentum = o.value("momentum", optimizer.momentum);
  optimizer.nesterov = o.value("nesterov", optimizer.nesterov);
  optimizer.beta1 = o.value("beta1", optimizer.beta1);
  optimizer.beta2 = o.value("beta2", optimizer.beta2);
  optimizer.eps = o.value("eps", optimizer.eps);
  optimizer.weight_decay = o.at("weight_decay");
  settings.clip_norm = spec.at("clip_norm");
  settings.loss.label_smoothing = spec.at("label_smoothing");
  settings.ema_decay = spec.at("ema_decay");
  if (spec.at("precision") == "fp16") {
    settings.compute_type = torch::kHalf;
    settings.grad_scaler.init_scale = spec.at("initial_scale");
    settings.grad_scaler.growth_interval = spec.at("growth_interval");
  }
  return settings;
}

std::vector<step::Microbatch> batch_of(const Recording& recording, std::int64_t step) {
  const torch::Tensor &inputs = recording.tensors.at("inputs"), &targets = recording.tensors.at("targets");
  const std::int64_t batch = recording.spec.at("batch");
  const torch::Tensor chosen = at::arange(step * batch, (step + 1) * batch, torch::kInt64).remainder(inputs.size(0));
  std::vector<step::Microbatch> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : recording.spec.at("microbatches")) {
    const torch::Tensor part = chosen.narrow(0, begin, size);
    parts.push_back({inputs.index_select(0, part), targets.index_select(0, part)});
    begin += size;
  }
  return parts;
}

std::vector<kasmina::NamedTensor> all_tensors(const kasmina::Host& host) {
  std::vector<kasmina::NamedTensor> all = host.tensors.parameters;
  all.insert(all.end(), host.tensors.buffers.begin(), host.tensors.buffers.end());
  return all;
}

void start_as_recorded(const Recording& recording, const kasmina::Host& host) {
  at::NoGradGuard no_grad;
  const auto all = all_tensors(host);
  std::size_t recorded = 0;
  for (const auto& [name, tensor] : recording.tensors) recorded += name.starts_with("initial.") ? 1 : 0;
  REQUIRE(recorded == all.size());
  for (const auto& named : all) {
    INFO(named.id);
    torch::Tensor target = named.tensor;
    REQUIRE(recording.tensors.at("initial." + named.id).sizes() == target.sizes());
    target.copy_(recording.tensors.at("initial." + named.id));
  }
}

// Returns the relative error.
double compare(const std::string& id, const torch::Tensor& ours, const torch::Tensor& recorded) {
  const torch::Tensor a = ours.detach().to(torch::kFloat64), b = recorded.to(torch::kFloat64);
  const double largest = b.abs().max().item<double>(), error = a.sub(b).abs().max().item<double>();
  const double relative = largest > 0 ? error / largest : error;
  std::printf("  %-44s absolute %.2e  relative %.2e\n", id.c_str(), error, relative);
  return relative;
}

// A key's bias shifts all scores of a query alike, which the softmax undoes: its true gradient is zero, and AdamW makes
// steps of full size out of the rounding errors. So the middle third of such a bias is not compared.
torch::Tensor comparable(const std::string& id, const torch::Tensor& tensor) {
  if (!id.ends_with("attention.qkv.bias")) return tensor;
  const auto thirds = tensor.detach().chunk(3);
  return at::cat({thirds[0], thirds[2]});
}

struct Trained {
  std::vector<double> losses, scales;
};

Trained train(const Recording& recording, const kasmina::Host& host, const step::StepSettings& settings,
              step::StepState& state) {
  const auto no_slots = [](std::size_t, const torch::Tensor& x) { return x; };
  const step::TrainingForward forward = [&](const torch::Tensor& x, kasmina::SlotTaps*) {
    return host.forward(x, kasmina::Mode::kTrain, no_slots);
  };
  Trained trained;
  for (std::int64_t step = 0; step < recording.spec.at("steps").get<std::int64_t>(); ++step) {
    step::train_step(state, settings, batch_of(recording, step), forward);
    const step::StepMetrics metrics = step::read_metrics(state);
    trained.losses.push_back(metrics.loss);
    trained.scales.push_back(metrics.loss_scale);
  }
  return trained;
}

void repeat(const std::string& name) {
  at::set_num_threads(1);
  const Recording recording = load(name);
  const kasmina::Host host = kasmina::build_host(host_of(recording.spec), sample_of(recording.spec), 1, torch::kCPU);
  start_as_recorded(recording, host);
  const step::StepSettings settings = settings_of(recording.spec);
  step::StepState state = step::make_step_state(settings, torch::kCPU);
  const kasmina::ParameterGroup group{"host", "host", host.tensors.parameters};
  step::sync_groups(state, settings, std::span(&group, 1));

  std::printf("%s\n", name.c_str());
  const Trained trained = train(recording, host, settings, state);
  const double tolerance = settings.compute_type == torch::kHalf ? kFp16Tolerance : kFp32Tolerance;
  for (const auto& named : all_tensors(host)) {
    INFO(named.id);
    const torch::Tensor& recorded = recording.tensors.at("final." + named.id);
    CHECK(compare(named.id, comparable(named.id, named.tensor), comparable(named.id, recorded)) < tolerance);
  }
  for (const auto& named : step::named_tensors(state)) {
    if (!named.id.starts_with("ema.")) continue;
    INFO(named.id);
    CHECK(compare(named.id, named.tensor, recording.tensors.at("average." + named.id.substr(4))) < tolerance);
  }
  CHECK(compare("loss of each step", at::tensor(trained.losses, torch::kFloat64), recording.tensors.at("loss")) <
        tolerance);
  CHECK(compare("loss scale", at::tensor(trained.scales, torch::kFloat64), recording.tensors.at("scale")) == 0);
}

// Of the batches that were recorded with them.
void recompute_statistics(const Recording& recording, step::BatchStatistics& statistics) {
  const torch::Tensor& inputs = recording.tensors.at("inputs");
  const std::vector<std::int64_t> sizes = recording.spec.at("statistics_batches");
  const auto batches = inputs.split_with_sizes(sizes);
  auto next = batches.begin();
  statistics.recompute([&] { return next == batches.end() ? std::nullopt : std::optional(*next++); }, torch::kFloat32);
}

}  // namespace

TEST_CASE("batch norm's statistics of averaged parameters as torch.optim.swa_utils.update_bn") {
  at::set_num_threads(1);
  const Recording recording = load("cnn_sgd_averaged");
  const kasmina::Network network(host_of(recording.spec), {}, sample_of(recording.spec), 1, torch::kCPU);
  for (const auto& group : network.parameter_groups()) {
    const at::NoGradGuard no_grad;
    for (const auto& [id, tensor] : group.parameters)
      torch::Tensor(tensor).copy_(recording.tensors.at("average." + id));
  }
  step::BatchStatistics statistics(network);
  recompute_statistics(recording, statistics);
  int compared = 0;
  for (const auto& [id, tensor] : network.buffers()) {
    const auto recorded = recording.tensors.find("average." + id);
    if (recorded == recording.tensors.end()) continue;
    INFO(id);
    CHECK(compare(id, tensor, recorded->second) < kFp32Tolerance);
    ++compared;
  }
  CHECK(compared == 6);  // a mean and a variance in each of three blocks
}
TEST_CASE("linear with SGD as in Python") { repeat("linear_sgd"); }
TEST_CASE("mlp with SGD as in Python") { repeat("mlp_sgd"); }
TEST_CASE("mlp with SGD and momentum as in Python") { repeat("mlp_sgd_momentum"); }
TEST_CASE("mlp with SGD, Nesterov momentum and weight decay as in Python") { repeat("mlp_sgd_nesterov_decay"); }
TEST_CASE("mlp with AdamW as in Python") { repeat("mlp_adamw"); }
TEST_CASE("mlp with AdamW, clipping, label smoothing and averages as in Python") {
  repeat("mlp_adamw_clip_smooth_ema");
}
TEST_CASE("mlp with AdamW over uneven microbatches as in Python") { repeat("mlp_adamw_microbatches"); }
TEST_CASE("mlp in fp16 with overflowing steps and microbatches as in Python") { repeat("mlp_sgd_fp16"); }
TEST_CASE("cnn with SGD and momentum as in Python") { repeat("cnn_sgd_momentum"); }
TEST_CASE("cnn with SGD, Nesterov momentum and weight decay as in Python") { repeat("cnn_sgd_nesterov_decay"); }
TEST_CASE("cnn with SGD, momentum and averages as in Python") { repeat("cnn_sgd_averaged"); }
TEST_CASE("cnn with AdamW as in Python") { repeat("cnn_adamw"); }
TEST_CASE("transformer with SGD and momentum as in Python") { repeat("transformer_sgd_momentum"); }
TEST_CASE("transformer with AdamW as in Python") { repeat("transformer_adamw"); }

}  // namespace esper::test::step_parity_test
