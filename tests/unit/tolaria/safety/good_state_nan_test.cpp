// A number that is not finite, in each of a seed's tensors and in each of its stages: the seed goes, the run goes on.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "support/run_fixture.h"
#include "tolaria/safety/good_state.h"

namespace esper::test::good_state_nan_test {
namespace {

using config::SeedTraining;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using Kind = tolaria::RunOutcome::Kind;

// A cnn, the last block of which a seed may copy: it has batch norm, whose statistics validation reads.
config::RunConfig copying(SeedTraining training) {
  auto config = small_config();
  config.epochs = 6;
  config.data.kind = config::DataKind::kDigits;
  config.data.shape = {1, 8, 8};
  config.data.max_samples = 128;
  config.data.batch_size = 32;
  config.host = {};
  config.host.kind = config::HostKind::kCnn;
  config.host.blocks = 2;
  config.host.pool_layers = config.host.residual_blocks = 1;
  config.host.base_channels = 4;
  config.growth.blueprints = {"copy_block"};
  config.growth.training = training;
  config.growth.alpha_ticks = 4;
  config.growth.gates.min_training_epochs = 1;
  config.growth.gates.min_improvement_points = -100;
  config.growth.gates.min_gradient_ratio = 0;
  return config;
}

// Germinates at epoch 1, trains from epoch 2, blends from epoch 3.
Decision grows(const Observation& seen) {
  if (seen.current_epoch == 1) return {{germination(seen)}, "as the test says"};
  if (seen.current_epoch > 3) return {};
  const auto to = seen.current_epoch == 2 ? SeedOperation::kStartTraining : SeedOperation::kStartGrafting;
  return {{seed_command(seen, to, "seed-0001")}, "as the test says"};
}

// One element of each of the seed's tensors whose name ends so. Returns of how many.
int spoil(const SmallRun& it, const std::string& ending) {
  const at::NoGradGuard no_grad;
  int count = 0;
  for (const auto& [id, tensor] : step::all_tensors(*it.model, torch::kCPU)) {
    if (!id.starts_with("seed-0001.") || !id.ends_with(ending)) continue;
    tensor.detach().view(-1)[0].fill_(std::numeric_limits<double>::quiet_NaN());
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("one number of a growing seed that is not finite costs the seed, not the run, whichever it is") {
  const auto training = GENERATE(SeedTraining::kStraightThrough, SeedTraining::kShadow, SeedTraining::kBlended);
  const auto* tensor = GENERATE("conv1.weight", "norm2.running_mean", "norm1.running_var");
  const int after = GENERATE(1, 2, 3);  // GERMINATED, TRAINING, BLENDING
  CAPTURE(static_cast<int>(training), tensor, after);
  SmallRun it(copying(training), grows);
  int spoilt = 0;
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == "small-run-epoch-" + std::to_string(after)) spoilt = spoil(it, tensor);
  };
  const auto outcome = it.go();
  INFO(outcome.reason);
  CHECK(outcome.kind == Kind::kDone);
  CHECK(spoilt == 1);
  CHECK(it.events("tolaria.diverged").empty());
  CHECK(it.events("tolaria.rollback.restored").size() == 1);
  CHECK(it.values("tolaria.seeds.active").back() == 0);
  for (const double loss : it.values("tolaria.validation.loss")) CHECK(std::isfinite(loss));
}

}  // namespace esper::test::good_state_nan_test
