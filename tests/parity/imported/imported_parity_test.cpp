// Models that `esper import` took over, trained for twenty steps, against the same training in plain PyTorch.

#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/rng.h"
#include "kasmina/tensor/stored_tensor.h"
#include "leyline/blueprint/sample_shape.h"
#include "step/batch_statistics.h"
#include "step/model.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace esper::imported_parity_test {
namespace {

using test::TemporaryFolder;
using Tensors = std::map<std::string, torch::Tensor>;

const std::string kHere = ESPER_SOURCE_DIR "/tests/parity/imported";
const std::string kPython = ESPER_SOURCE_DIR "/.esper/python/bin/python";

const std::string kEsper = ESPER_BINARY_DIR "/bin/esper";

struct Imported {
  std::string model, example;
  leyline::SampleShape sample;
  double gradient_tolerance = 1e-5;
};

Tensors read(const std::string& path) {
  const auto loaded = storage::load_safetensors(storage::real_file_system(), path, 1u << 30);
  REQUIRE(loaded);
  Tensors tensors;
  for (const auto& view : loaded->contents.tensors) tensors[view.name] = kasmina::tensor_of(view)->tensor;
  return tensors;
}

config::RunConfig config_of(const std::string& package) {
  config::RunConfig config;
  config.host.kind = config::HostKind::kExported;
  config.host.path = package;
  config.growth.enabled = false;
  config.training.optimizer.lr = 0.02;
  config.training.optimizer.momentum = 0.9;
  config.training.optimizer.weight_decay = 1e-4;
  return config;
}

// Of the 2-norms; where the expected one is as good as zero, of an element's own size.
double relative_difference(const torch::Tensor& actual, const torch::Tensor& expected) {
  const auto a = actual.to(at::kDouble), e = expected.to(at::kDouble);
  return ((a - e).norm() / e.norm().clamp_min(1e-3)).item<double>();
}

constexpr int kSteps = 20;
constexpr double kTolerance = 1e-5;

// What PyTorch had before a step, or after the last one.
std::string state(int step) { return "state." + std::to_string(step) + "."; }
std::string momentum(int step) { return "momentum." + std::to_string(step) + "."; }

void train(step::Model& model, const Tensors& reference, int step) {
  const auto forward = step::training_forward(model.network);
  const std::string number = std::to_string(step);
  const step::Microbatch batch{reference.at("inputs." + number), reference.at("targets." + number)};
  step::set_learning_rate(model.state, model.settings.optimizer.lr);
  step::train_step(model.state, model.settings, std::span(&batch, 1), forward);
}

// Each of the host's tensors against those of the reference with the prefix.
void compare(const step::Model& model, const Tensors& reference, const std::string& prefix, double tolerance) {
  const auto& table = model.network.state().host.tensors;
  std::size_t compared = 0;
  for (const auto* tensors : {&table.parameters, &table.buffers}) {
    for (const auto& [id, tensor] : *tensors) {
      INFO(prefix + id);
      const auto expected = reference.find(prefix + id);
      if (expected == reference.end()) continue;  // a constant that no state dict has
      CHECK(relative_difference(tensor, expected->second) <= tolerance);
      ++compared;
    }
  }
  CHECK(compared >= table.parameters.size());
}

// What the step changed in the momentum: every gradient.
void compare_momentum(const step::Model& model, const Tensors& reference, int step, double tolerance) {
  for (const auto& group : model.state.groups) {
    for (std::size_t i = 0; i < group.parameter_ids.size(); ++i) {
      INFO(momentum(step) + group.parameter_ids[i]);
      const auto& expected = reference.at(momentum(step) + group.parameter_ids[i]);
      CHECK(relative_difference(view_of(group.first_moments, i), expected) <= tolerance);
    }
  }
}

// The model as PyTorch had it before that step.
void set_state(step::Model& model, const Tensors& reference, int step) {
  const at::NoGradGuard no_grad;
  const auto& table = model.network.state().host.tensors;
  for (const auto* tensors : {&table.parameters, &table.buffers}) {
    for (const auto& [id, tensor] : *tensors) {
      const auto held = reference.find(state(step) + id);
      if (held != reference.end()) tensor.copy_(held->second);
    }
  }
  for (const auto& group : model.state.groups) {
    for (std::size_t i = 0; i < group.parameter_ids.size(); ++i) {
      const auto held = reference.find(momentum(step) + group.parameter_ids[i]);
      if (held != reference.end()) view_of(group.first_moments, i).copy_(held->second);
    }
  }
}

// How far PyTorch's own training goes apart where its inputs differ by a rounding error.
double sensitivity(const Tensors& reference) {
  double most = 0;
  for (const auto& [id, tensor] : reference) {
    if (!id.starts_with("nudged.")) continue;
    most = std::max(most, relative_difference(tensor, reference.at(id.substr(7))));
  }
  return most;
}

std::unique_ptr<step::Model> model_of(const std::string& package, const leyline::SampleShape& sample) {
  const auto config = config_of(package);
  return step::build_model(config, sample, step::step_settings(config, torch::kFloat32), torch::kCPU);
}

// Twenty steps, each from where PyTorch was before it: what a step does, and not how errors grow.
void compare_each_step(const std::string& package, const Imported& imported, const Tensors& reference) {
  const auto model = model_of(package, imported.sample);
  compare(*model, reference, state(0), 0);
  at::manual_seed(2);
  for (int step = 0; step < kSteps; ++step) {
    set_state(*model, reference, step);
    train(*model, reference, step);
    compare(*model, reference, state(step + 1), kTolerance);
    compare_momentum(*model, reference, step + 1, imported.gradient_tolerance);
  }
}

// Batch norm's statistics of the trained model over all batches, as torch.optim.swa_utils.update_bn.
void compare_statistics(const std::string& package, const Imported& imported, const Tensors& reference) {
  const auto model = model_of(package, imported.sample);
  set_state(*model, reference, kSteps);
  step::BatchStatistics statistics(model->network);
  int step = 0;
  statistics.recompute(
      [&]() -> std::optional<torch::Tensor> {
        if (step == kSteps) return std::nullopt;
        return reference.at("inputs." + std::to_string(step++));
      },
      torch::kFloat32);
  for (const auto& [id, tensor] : statistics.copies()) {
    INFO("statistics." + id);
    CHECK(relative_difference(tensor, reference.at("statistics." + id)) <= kTolerance);
  }
}

// Twenty steps of its own.
void compare_training(const std::string& package, const Imported& imported, const Tensors& reference) {
  const auto model = model_of(package, imported.sample);
  at::manual_seed(2);
  for (int step = 0; step < kSteps; ++step) train(*model, reference, step);
  const double drift = sensitivity(reference);
  INFO("PyTorch against itself " << drift);
  constexpr double kOwnDrift = 4;
  compare(*model, reference, state(kSteps), std::max(kTolerance, kOwnDrift * drift));
  const auto metrics = step::read_metrics(model->state);
  CHECK(std::abs(metrics.loss - reference.at("losses").mean().item<double>()) <=
        std::max(kTolerance, kOwnDrift * drift) * metrics.loss);
}

// What PyTorch makes of these models: of all in one process, whose start takes longer than a training.
struct References {
  TemporaryFolder folder;
  explicit References(const std::vector<Imported>& all) {
    std::vector<std::string> command{kPython, kHere + "/train.py", folder.path()};
    for (const auto& each : all) command.push_back(each.model);
    const auto finished = test::run_program(command);
    INFO(finished.err);
    REQUIRE(finished.exit_code == 0);
  }
};

void compare_with_pytorch(const Imported& c, const References& references) {
  INFO(c.model);
  const TemporaryFolder folder;
  const std::string package = folder.path() + "/package";
  const auto [module, name] = std::pair{c.model.substr(0, c.model.find(':')), c.model.substr(c.model.find(':') + 1)};
  const auto imported = test::run_program(
      {kEsper, "import", kHere + "/" + module + ".py:" + name, "--example", c.example, "--out", package});
  INFO(imported.err);
  REQUIRE(imported.exit_code == 0);
  const auto reference = read(references.folder.path() + "/" + name + ".safetensors");
  at::set_num_threads(1);
  compare_each_step(package, c, reference);
  compare_statistics(package, c, reference);
  compare_training(package, c, reference);
}

TEST_CASE("an imported model trains as PyTorch trains it", "[imported]") {
  using leyline::features_shape;
  using leyline::image_shape;
  using leyline::tokens_shape;
  static const std::vector<Imported> all{{"models:ResNet18", "3x16x16", image_shape(3, 16, 16, 10)},
                                         {"models:MobileNetV3", "3x16x16", image_shape(3, 16, 16, 10)},
                                         {"models:ViT", "3x16x16", image_shape(3, 16, 16, 10)},
                                         {"models:Gpt", "16:int64", tokens_shape(16, 40)},
                                         {"models:Lstm", "12:int64", tokens_shape(12, 5)},
                                         {"models:UNet", "3x16x16", image_shape(3, 16, 16, 3)},
                                         {"models:Gnn", "24", features_shape(24, 3)},
                                         {"models:InPlace", "24", features_shape(24, 3)}};
  static const References references(all);
  compare_with_pytorch(GENERATE(from_range(all)), references);
}

TEST_CASE("a model of PyTorch Geometric's layers trains as PyTorch trains it", "[imported]") {
  if (!std::filesystem::exists(ESPER_SOURCE_DIR "/.esper/parity")) {
    SKIP("PyTorch Geometric is missing: scripts/bootstrap --parity");
  }
  const Imported model{"graph_models:GeometricGnn", "24", leyline::features_shape(24, 3)};
  compare_with_pytorch(model, References({model}));
}

}  // namespace
}  // namespace esper::imported_parity_test
