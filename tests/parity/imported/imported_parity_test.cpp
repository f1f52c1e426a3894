// Models that `esper import` took over, trained for twenty steps, against the same training in plain PyTorch.

#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <string>

#include "device/rng.h"
#include "kasmina/tensor/stored_tensor.h"
#include "leyline/sample_shape.h"
#include "step/model.h"
#include "storage/real_file_system.h"
#include "storage/safetensors.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace esper {
namespace {

using test::TemporaryFolder;
using Tensors = std::map<std::string, torch::Tensor>;

const std::string kHere = ESPER_SOURCE_DIR "/tests/parity/imported";
const std::string kPython = ESPER_SOURCE_DIR "/.esper/python/bin/python";

const std::string kEsper = ESPER_BINARY_DIR "/bin/esper";

struct Imported {
  std::string model, example;
  leyline::SampleShape sample;
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

// Steps [from, to).
void train(step::Model& model, const Tensors& reference, int from, int to) {
  const auto forward = step::training_forward(model.network);
  for (int i = from; i < to; ++i) {
    const std::string number = std::to_string(i);
    const step::Microbatch batch{reference.at("inputs." + number), reference.at("targets." + number)};
    step::set_learning_rate(model.state, model.settings.optimizer.lr);
    step::train_step(model.state, model.settings, std::span(&batch, 1), forward);
  }
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

// How far PyTorch's own training goes apart where its inputs differ by a rounding error.
double sensitivity(const Tensors& reference) {
  double most = 0;
  for (const auto& [id, tensor] : reference) {
    if (!id.starts_with("nudged.")) continue;
    most = std::max(most, relative_difference(tensor, reference.at(id.substr(7))));
  }
  return most;
}

TEST_CASE("an imported model trains as PyTorch trains it", "[imported]") {
  using leyline::features_shape;
  using leyline::image_shape;
  using leyline::tokens_shape;
  const auto c =
      GENERATE(Imported{"ResNet18", "3x16x16", image_shape(3, 16, 16, 10)},
               Imported{"MobileNetV3", "3x16x16", image_shape(3, 16, 16, 10)},
               Imported{"ViT", "3x16x16", image_shape(3, 16, 16, 10)},
               Imported{"Gpt", "16:int64", tokens_shape(16, 40)}, Imported{"Lstm", "12:int64", tokens_shape(12, 5)},
               Imported{"UNet", "3x16x16", image_shape(3, 16, 16, 3)}, Imported{"Gnn", "24", features_shape(24, 3)});
  INFO(c.model);
  const TemporaryFolder folder;
  const std::string package = folder.path() + "/package";
  const auto imported =
      test::run_program({kEsper, "import", kHere + "/models.py:" + c.model, "--example", c.example, "--out", package});
  INFO(imported.err);
  REQUIRE(imported.exit_code == 0);
  REQUIRE(test::run_program({kPython, kHere + "/train.py", c.model, folder.path()}).exit_code == 0);
  const auto reference = read(folder.path() + "/reference.safetensors");

  at::set_num_threads(1);
  const auto config = config_of(package);
  const auto model = step::build_model(config, c.sample, step::step_settings(config, torch::kFloat32), torch::kCPU);
  constexpr int kSteps = 20;
  constexpr double kTolerance = 1e-5, kOwnDrift = 4;
  at::manual_seed(2);
  train(*model, reference, 0, 1);
  compare(*model, reference, "first.", kTolerance);
  train(*model, reference, 1, kSteps);
  const double drift = sensitivity(reference);
  INFO("PyTorch against itself " << drift);
  compare(*model, reference, "", std::max(kTolerance, kOwnDrift * drift));
  const auto metrics = step::read_metrics(model->state);
  CHECK(std::abs(metrics.loss - reference.at("losses").mean().item<double>()) <=
        std::max(kTolerance, kOwnDrift * drift) * metrics.loss);
}

}  // namespace
}  // namespace esper
