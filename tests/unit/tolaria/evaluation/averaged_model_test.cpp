#include "tolaria/evaluation/averaged_model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "base/fault.h"
#include "leyline/seed_command.h"
#include "step/ema.h"
#include "support/loader_epoch.h"
#include "support/models/grown_network.h"
#include "support/run_fixture.h"

namespace esper::test::averaged_model_test {

using tolaria::AveragedModel;
using tolaria::kStatisticsSamples;
using tolaria::RunOutcome;
using tolaria::validation_pass;

namespace {

using Catch::Matchers::WithinAbs;

constexpr std::uint64_t kNever = 1'000'000'000;

// Learns so fast that the averages, which remember 50 steps, are far from the parameters.
config::RunConfig fast_cnn() {
  auto config = small_config();
  config.epochs = 4;
  config.data.kind = config::DataKind::kDigits;
  config.data.shape = {1, 8, 8};
  config.data.max_samples = 600;
  config.data.batch_size = 16;
  config.host.kind = config::HostKind::kCnn;
  config.host.blocks = 3;
  config.host.base_channels = 8;
  config.host.pool_layers = 0;
  config.training.optimizer.lr = 0.2;
  config.training.optimizer.momentum = 0.9;
  config.training.ema_decay = 0.98;
  config.growth.blueprints = {"conv_light"};
  config.growth.counterfactual.every_epochs = 1;
  return config;
}

struct NormOfBlock {
  torch::Tensor mean, variance;  // [C], sums over batches
};

// The host of fast_cnn() with the averaged parameters, written out with torch's operators.
class AveragedCnn {
 public:
  explicit AveragedCnn(const SmallRun& run) : norms_(3) {
    for (const auto& [id, tensor] : step::named_tensors(run.model->state)) {
      if (id.starts_with("ema.host.")) values_[id.substr(9)] = tensor.detach().clone();
    }
  }
  // As torch.optim.swa_utils.update_bn: the mean over batches of each batch's mean and unbiased variance.
  void take_statistics(const torch::Tensor& inputs) {
    features(inputs, [&](std::size_t block, const torch::Tensor& x) {
      NormOfBlock& sum = norms_[block];
      const auto mean = x.mean({0, 2, 3}), variance = x.var(at::IntArrayRef{0, 2, 3}, /*unbiased=*/true);
      sum.mean = sum.mean.defined() ? sum.mean + mean : mean;
      sum.variance = sum.variance.defined() ? sum.variance + variance : variance;
      return normalised(block, x, mean, x.var(at::IntArrayRef{0, 2, 3}, /*unbiased=*/false));
    });
    ++batches_;
  }
  torch::Tensor logits(const torch::Tensor& inputs) const {
    const auto x = features(inputs, [&](std::size_t block, const torch::Tensor& feature) {
      return normalised(block, feature, norms_[block].mean / batches_, norms_[block].variance / batches_);
    });
    return at::linear(x.mean({2, 3}), values_.at("head.weight"), values_.at("head.bias"));
  }

 private:
  template <class Norm>
  torch::Tensor features(const torch::Tensor& inputs, const Norm& norm) const {
    torch::Tensor x = inputs;
    for (std::size_t block = 0; block < norms_.size(); ++block) {
      x = at::relu(norm(block, at::conv2d(x, value(block, "conv.weight"), {}, 1, 1)));
    }
    return x;
  }
  torch::Tensor normalised(std::size_t block, const torch::Tensor& x, const torch::Tensor& mean,
                           const torch::Tensor& variance) const {
    const auto along = [](const torch::Tensor& of_channels) { return of_channels.view({1, -1, 1, 1}); };
    return (x - along(mean)) / along((variance + 1e-5).sqrt()) * along(value(block, "norm.weight")) +
           along(value(block, "norm.bias"));
  }
  const torch::Tensor& value(std::size_t block, const std::string& name) const {
    return values_.at("block" + std::to_string(block) + "." + name);
  }

  std::map<std::string, torch::Tensor> values_;
  std::vector<NormOfBlock> norms_;
  std::int64_t batches_ = 0;
};

struct Figures {
  double loss = 0, score = 0;
};

Figures figures_of(const AveragedCnn& network, data::Loader& validation) {
  Figures figures;
  double samples = 0;
  validation.seek(0, 0);
  for (const auto& batch : rest_of_epoch(validation)) {
    const auto logits = network.logits(batch.inputs);
    figures.loss += at::cross_entropy_loss(logits, batch.targets, {}, at::Reduction::Sum).item<double>();
    figures.score += logits.argmax(1).eq(batch.targets).sum().item<double>();
    samples += static_cast<double>(batch.size);
  }
  return {figures.loss / samples, figures.score / samples};
}

// Batches that constructing one reads from the training data.
std::uint64_t batches_read(SmallRun& run, data::Loader& train) {
  base::fault::arm("data.batch", kNever);
  {
    const AveragedModel averaged(*run.model, train, run.facts.config, torch::kCPU);
  }
  const auto read = base::fault::hits("data.batch");
  base::fault::disarm_all();
  return read;
}

}  // namespace

TEST_CASE("with the statistics that a checkpoint keeps the averaged model is the same without training data") {
  SmallRun it(fast_cnn());
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto before = it.bits();
  const auto saved = tolaria::averaged_statistics(*it.model, *it.train_data, it.facts.config, torch::kCPU);
  CHECK(saved.size() == 6);  // a mean and a variance for each block
  CHECK(differing(it.bits(), before).empty());
  const auto loss_of = [&] { return validation_pass(*it.model, *it.validation_data, torch::kCPU).loss; };
  double from_data = 0, from_saved = 0;
  {
    const AveragedModel averaged(*it.model, *it.train_data, it.facts.config, torch::kCPU);
    from_data = loss_of();
  }
  {
    const AveragedModel averaged(*it.model, saved);
    from_saved = loss_of();
  }
  CHECK(from_saved == from_data);
  CHECK(loss_of() != from_data);
  CHECK(differing(it.bits(), before).empty());
  auto incomplete = saved;
  incomplete.pop_back();
  CHECK_THROWS_AS(AveragedModel(*it.model, incomplete), base::Error);
  CHECK_THROWS_AS(AveragedModel(*it.model, {}), base::Error);
  CHECK(differing(it.bits(), before).empty());
}

TEST_CASE("after a signal a checkpoint's statistics are computed as without it, while it leaves them time") {
  SmallRun it(fast_cnn());
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto statistics = [&](std::chrono::nanoseconds after_signal) {
    std::map<std::string, torch::Tensor> found;
    const auto saved =
        tolaria::averaged_statistics(*it.model, *it.train_data, it.facts.config, torch::kCPU, after_signal);
    for (const auto& [id, tensor] : saved) found[id] = tensor;
    return found;
  };
  const auto before = statistics({});
  REQUIRE(before.size() == 6);
  raise(SIGTERM);
  CHECK(statistics({}).empty());
  const auto after = statistics(std::chrono::hours(1));
  REQUIRE(after.size() == 6);
  CHECK(differing(after, before).empty());
}

TEST_CASE("averaged parameters are validated with batch norm's statistics of their own") {
  SmallRun it(fast_cnn());
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const at::NoGradGuard no_grad;
  AveragedCnn own(it);
  it.train_data->seek(0, 0);
  for (const auto& batch : rest_of_epoch(*it.train_data)) own.take_statistics(batch.inputs);
  const Figures expected = figures_of(own, *it.validation_data);

  const auto measured = it.measure();
  CHECK_THAT(measured.running.loss, WithinAbs(expected.loss, 1e-4));
  CHECK_THAT(measured.running.score, WithinAbs(expected.score, 1e-9));
  CHECK(measured.running.score == it.values("tolaria.validation.accuracy").back());

  const step::EmaScope with_live_statistics(it.model->state);
  const auto wrong = validation_pass(*it.model, *it.validation_data, torch::kCPU);
  CHECK(measured.running.score > 0.7);
  CHECK(wrong.score < measured.running.score - 0.2);
}

TEST_CASE("trials and counterfactuals measure the averaged model too") {
  SmallRun it(fast_cnn());
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  it.model->network.apply(tests::germination(0, "r0c0", "conv_light"), it.run.data.probe);
  tests::blend_to(it.model->network, {1});
  step::follow_structure(*it.model);
  const auto before = it.bits();
  const auto measured = it.measure();
  CHECK(differing(before, it.bits()) == std::vector<std::string>{});
  REQUIRE(measured.counterfactual.end == tolaria::Counterfactual::End::kMeasured);
  CHECK_THAT(measured.counterfactual.loss, WithinAbs(measured.running.loss, 1e-4));
  const step::EmaScope with_live_statistics(it.model->state);
  const auto wrong = validation_pass(*it.model, *it.validation_data, torch::kCPU);
  CHECK(std::abs(wrong.loss - measured.counterfactual.loss) > 0.05);
}

// At birth a seed is in the forward, at alpha 0; in the shadow it is not. Its slot receives the same in both.
TEST_CASE("the batch norms of a seed in the shadow have statistics of the batches, as those of one in the forward") {
  auto config = fast_cnn();
  config.host.residual_blocks = 1;
  config.growth.blueprints = {"copy_block_plain"};
  config.growth.training = config::SeedTraining::kShadow;
  SmallRun it(config);
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto statistics = [&] {
    std::map<std::string, torch::Tensor> found;
    const AveragedModel averaged(*it.model, *it.train_data, it.facts.config, torch::kCPU);
    for (const auto& [id, tensor] : averaged.statistics()) found[id] = tensor;
    return found;
  };
  it.model->network.apply(tests::germination(0, "r0c0", "copy_block_plain"), it.run.data.probe);
  step::follow_structure(*it.model);
  const auto at_birth = statistics();
  REQUIRE(at_birth.size() == 22);  // of three blocks with a residual block each, and of the copy of one
  const auto start = leyline::seed_command("start", leyline::SeedOperation::kStartTraining, "seed-0001");
  it.model->network.apply(start, it.run.data.probe);
  step::follow_structure(*it.model);
  REQUIRE(it.model->network.parameter_groups().at(1).in_shadow);
  const auto before = it.bits();
  CHECK(differing(statistics(), at_birth) == std::vector<std::string>{});
  CHECK(differing(it.bits(), before) == std::vector<std::string>{});
}

TEST_CASE("measuring the averaged model changes no bit of the run and does not move its loader") {
  SmallRun it(fast_cnn());
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  it.train_data->seek(2, 3);
  const auto expected = it.train_data->next();
  it.train_data->seek(2, 3);
  const auto before = it.bits();
  const auto first = it.measure(), second = it.measure();
  CHECK(differing(before, it.bits()) == std::vector<std::string>{});
  CHECK(first.running.loss == second.running.loss);
  const auto next = it.train_data->next();
  REQUIRE(next);
  CHECK(next->epoch == 2);
  CHECK(next->index == 3);
  CHECK(at::equal(next->inputs, expected->inputs));
}

TEST_CASE("averaging changes nothing but the averages") {
  auto config = fast_cnn();
  config.epochs = 2;
  SmallRun with(config);
  config.training.ema_decay = 0;
  SmallRun without(config);
  REQUIRE(with.go().kind == RunOutcome::Kind::kDone);
  REQUIRE(without.go().kind == RunOutcome::Kind::kDone);
  const auto names = differing(with.bits(), without.bits());
  CHECK_FALSE(names.empty());
  for (const auto& name : names) CHECK(name.starts_with("ema."));
}

TEST_CASE("a failing read leaves the model as it was") {
  auto config = fast_cnn();
  config.epochs = 1;
  SmallRun it(config);
  REQUIRE(it.go().kind == RunOutcome::Kind::kDone);
  const auto before = it.bits();
  base::fault::arm("data.batch", 3);
  CHECK_THROWS_AS(AveragedModel(*it.model, *it.train_data, it.facts.config, torch::kCPU), base::Error);
  base::fault::arm("data.batch", 3);
  CHECK_THROWS_AS(tolaria::compute_averaged_statistics(*it.model, *it.train_data, it.facts.config, torch::kCPU),
                  base::Error);
  base::fault::arm("data.batch", 3);
  CHECK(tolaria::averaged_statistics(*it.model, *it.train_data, it.facts.config, torch::kCPU).empty());
  base::fault::disarm_all();
  CHECK(differing(before, it.bits()) == std::vector<std::string>{});
}

TEST_CASE("statistics read at most one epoch and a bounded number of samples, and nothing where nothing needs them") {
  auto config = fast_cnn();
  SmallRun cnn(config);
  CHECK(batches_read(cnn, *cnn.train_data) == static_cast<std::uint64_t>(cnn.train_data->num_batches()));

  data::Dataset large = cnn.data.train;
  large.inputs = at::cat(std::vector<torch::Tensor>(12, large.inputs));
  large.targets = at::cat(std::vector<torch::Tensor>(12, large.targets));
  REQUIRE(data::num_samples(large) > kStatisticsSamples);
  data::LoaderConfig loader;
  loader.batch_size = config.data.batch_size;
  loader.workers = 0;
  data::Loader many(large, cnn.data.standardization, loader);
  CHECK(batches_read(cnn, many) == static_cast<std::uint64_t>(kStatisticsSamples / config.data.batch_size));

  config.training.ema_decay = 0;
  SmallRun live(config);
  CHECK(batches_read(live, *live.train_data) == 0);
  auto perceptron = small_config();
  perceptron.training.ema_decay = 0.9;
  SmallRun plain(perceptron);
  CHECK(batches_read(plain, *plain.train_data) == 0);
}

}  // namespace esper::test::averaged_model_test
