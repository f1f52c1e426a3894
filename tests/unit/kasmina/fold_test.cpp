// A linear fossil becomes part of the host's next layer: the network's function stays, its tensors do not.

#include "kasmina/fold/fold.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/eye.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "device/precision.h"
#include "kasmina/change.h"
#include "kasmina/command/stage_move.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/slot/topology.h"
#include "support/models/reduced_fp32.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::fold_test {
namespace {

using config::Composition;

constexpr const char* kSeed = "seed-0001";

config::GrowthConfig growth_with(Composition composition) {
  auto growth = quick_growth();
  growth.composition = composition;
  return growth;
}

config::HostConfig cnn_host() {
  config::HostConfig host;
  host.kind = config::HostKind::kCnn;
  host.blocks = 2;
  host.base_channels = 6;
  host.pool_layers = 1;
  return host;
}

// A network of any kind, its one seed fossilised by command.
struct Grown {
  config::GrowthConfig growth;
  Network network;
  torch::Tensor probe;
  std::uint32_t epoch = 0;
  int commands = 0;

  Grown(const config::HostConfig& host, const leyline::SampleShape& sample, const config::GrowthConfig& config,
        torch::Tensor batch)
      : growth(config), network(host, config, sample, 7, torch::kCPU), probe(std::move(batch)) {}

  leyline::AdaptationCommand command(SeedOperation operation, const std::string& slot = "",
                                     const std::string& blueprint = "") {
    leyline::AdaptationCommand made;
    made.command_id = std::to_string(++commands);
    made.command_type = leyline::CommandType::kSeed;
    made.seed_operation = {operation, slot, blueprint, {}};
    if (operation != SeedOperation::kGerminate) made.target_seed_id = kSeed;
    return made;
  }
  std::vector<LifecycleEvent> issue(SeedOperation operation, const std::string& slot = "",
                                    const std::string& blueprint = "") {
    return network.apply(command(operation, slot, blueprint), probe);
  }
  void end_epoch() {
    EpochFacts facts;
    facts.epoch = ++epoch;
    facts.validation_loss = 0.5;
    facts.validation_accuracy = 0.8;
    facts.host_gradient_norm = 1;
    facts.seeds = {{kSeed, 1.0, 0.7, 0.9}};
    network.end_epoch(facts);
  }
  void disturb() const {
    const at::NoGradGuard no_grad;
    at::manual_seed(3);
    for (const auto& group : network.parameter_groups()) {
      if (group.id != kSeed) continue;
      for (const auto& named : group.parameters) named.tensor.add_(at::randn_like(named.tensor) * 0.2);
    }
  }
  void bring_to_trial(const std::string& slot, const std::string& blueprint) {
    const auto born = issue(SeedOperation::kGerminate, slot, blueprint);
    TORCH_CHECK(!Growing::rejected(born), born.back().reason);
    for (const auto operation : {SeedOperation::kStartTraining, SeedOperation::kStartGrafting,
                                 SeedOperation::kStabilize, SeedOperation::kEvaluate}) {
      for (int i = 0; i < 3; ++i) end_epoch();
      TORCH_CHECK(!Growing::rejected(issue(operation)), "a step was refused");
    }
    for (int i = 0; i < 3; ++i) end_epoch();
    disturb();
  }
  // The events of FOSSILIZE.
  std::vector<LifecycleEvent> fossilise(const std::string& slot, const std::string& blueprint) {
    bring_to_trial(slot, blueprint);
    return issue(SeedOperation::kFossilize);
  }
  std::vector<NamedTensor> host() const { return network.parameter_groups().at(0).parameters; }
  torch::Tensor output(Mode mode = Mode::kEvaluate) const {
    const at::NoGradGuard no_grad;
    return network.forward(probe, mode);
  }
};

Grown mlp(const config::GrowthConfig& growth = quick_growth()) {
  return Grown(tiny_host(), tiny_sample(), growth, at::randn({8, 4}, at::detail::createCPUGenerator(5)));
}
Grown cnn(const config::GrowthConfig& growth = quick_growth()) {
  return Grown(cnn_host(), leyline::image_shape(2, 6, 6, 3), growth,
               at::randn({8, 2, 6, 6}, at::detail::createCPUGenerator(5)));
}

double change(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

void check_folded(Grown& run, const std::string& slot, const std::string& blueprint, const std::string& layer) {
  CAPTURE(slot, blueprint, layer);
  const auto scratch_growth = [&] {
    auto growth = run.growth;
    growth.fold_fossils = false;
    return growth;
  };
  const bool image = run.probe.dim() == 4;
  Grown unfolded = image ? cnn(scratch_growth()) : mlp(scratch_growth());
  const auto version = run.network.structure_version();
  const auto events = run.fossilise(slot, blueprint);
  REQUIRE(events.back().kind == Kind::kFold);
  INFO(events.back().reason);
  REQUIRE(events.back().passed);
  CHECK(events.back().reason.starts_with("folded into " + layer + ": "));
  CHECK(unfolded.fossilise(slot, blueprint).back().kind == Kind::kStage);
  CHECK(change(run.output(), unfolded.output()) < kMaxFoldChange);
  CHECK(change(run.output(Mode::kTrain), unfolded.output(Mode::kTrain)) < kMaxFoldChange);
  // Nothing of the seed is left but its place.
  CHECK(run.network.structure_version() > version);
  REQUIRE(run.network.parameter_groups().size() == 1);
  CHECK(run.network.scalars().empty());
  for (const auto& named : run.host()) {
    CHECK(owner_of(run.network, named.id) == kHostOwner);
    CHECK(named.id.starts_with("host."));
  }
  const auto place = topology_of(run.network.save_topology()).slots.at(slot == "r0c0" ? 0 : 1);
  CHECK(place.stage == Stage::kFossilized);
  CHECK(place.seed_id == kSeed);
  CHECK(place.folded);
  CHECK(export_seed_states(run.network.state()).at(0).stage == Stage::kFossilized);
  const auto before = run.output();
  for (int i = 0; i < 3; ++i) run.end_epoch();
  CHECK(same_bits(run.output(), before));
}

TEST_CASE("a linear seed of flat features becomes part of the next linear layer, or of the head") {
  for (const auto composition :
       {Composition::kAdd, Composition::kConvex, Composition::kResidual, Composition::kChannel}) {
    CAPTURE(static_cast<int>(composition));
    for (const char* blueprint : {"lora", "linear"}) {
      auto first = mlp(growth_with(composition)), last = mlp(growth_with(composition));
      check_folded(first, "r0c0", blueprint, "host.block1.linear");
      check_folded(last, "r0c1", blueprint, "host.head");
    }
  }
}

TEST_CASE("a pointwise seed becomes part of the next convolution, padding and all, or of the head behind the mean") {
  for (const auto composition :
       {Composition::kAdd, Composition::kConvex, Composition::kResidual, Composition::kChannel}) {
    CAPTURE(static_cast<int>(composition));
    auto first = cnn(growth_with(composition)), last = cnn(growth_with(composition));
    check_folded(first, "r0c0", "pointwise", "host.block1.conv");
    check_folded(last, "r0c1", "pointwise", "host.head");
  }
}

// Whether a product was computed while the device may shorten float32.
class ShortenedProducts {
 public:
  ShortenedProducts() {
    seen_ = false;
    handle_ =
        at::addGlobalCallback(at::RecordFunctionCallback(look).scopes({at::RecordScope::FUNCTION}).needsInputs(true));
  }
  ~ShortenedProducts() { at::removeCallback(handle_); }
  ShortenedProducts(const ShortenedProducts&) = delete;
  static bool seen() { return seen_; }

 private:
  static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& call) {
    const std::string_view name = call.name();
    const bool product = name == "aten::linear" || name == "aten::convolution" || name == "aten::mm";
    if (!product || !device::uses_reduced_fp32(torch::kCPU)) return nullptr;
    seen_ = seen_ || call.inputs()[0].toTensor().scalar_type() == at::kFloat;
    return nullptr;
  }
  inline static bool seen_ = false;
  at::CallbackHandle handle_{};
};

// Shortened, the layer's products differ by more than a thousandth from the seed's and the layer's.
TEST_CASE("what a change does to the network is measured in full float32") {
  const test::ReducedFp32 reduced;
  auto born = mlp(), folded = mlp();
  folded.bring_to_trial("r0c0", "linear");
  {
    const ShortenedProducts watch;
    born.output();
    REQUIRE(watch.seen());
  }
  const ShortenedProducts watch;
  REQUIRE_FALSE(Growing::rejected(born.issue(SeedOperation::kGerminate, "r0c0", "linear")));
  CHECK_FALSE(watch.seen());
  REQUIRE(folded.issue(SeedOperation::kFossilize).back().kind == Kind::kFold);
  CHECK_FALSE(watch.seen());
}

TEST_CASE("the network goes on learning where a seed was folded") {
  auto run = mlp();
  run.fossilise("r0c0", "linear");
  std::vector<torch::Tensor> parameters;
  for (const auto& named : run.host()) parameters.push_back(named.tensor);
  const auto loss = run.network.forward(run.probe, Mode::kTrain).square().mean();
  for (const auto& gradient : torch::autograd::grad({loss}, parameters)) {
    CHECK(gradient.abs().sum().item<double>() > 0);
  }
}

TEST_CASE("what algebra or the measurement does not allow stays a seed, and an event says why") {
  const auto kept = [](Grown run, const std::string& slot, const std::string& blueprint, const std::string& why) {
    CAPTURE(blueprint, why);
    const auto events = run.fossilise(slot, blueprint);
    REQUIRE(events.back().kind == Kind::kFold);
    CHECK_FALSE(events.back().passed);
    CHECK(events.back().reason.starts_with("stays as it is: " + why));
    CHECK(run.network.parameter_groups().size() == 2);
    CHECK(owner_of(run.network, run.network.parameter_groups()[1].parameters[0].id) == kHostOwner);
    CHECK_FALSE(topology_of(run.network.save_topology()).slots[0].folded);
  };
  for (const auto composition : {Composition::kMultiply, Composition::kGate, Composition::kConfidence}) {
    kept(mlp(growth_with(composition)), "r0c0", "lora", "growth.composition ");
  }
  auto blind = mlp();
  blind.fossilise("r0c0", "mlp");
  CHECK(blind.network.parameter_groups().size() == 2);  // not linear: nothing to tell
  config::HostConfig decoder;
  decoder.kind = config::HostKind::kTransformer;
  decoder.layers = decoder.segments = 2;
  decoder.embedding = 16;
  decoder.heads = 2;
  auto frozen = tiny_host();
  frozen.freeze = {"block1.linear.bias"};
  kept(Grown(frozen, tiny_sample(), quick_growth(), at::randn({8, 4})), "r0c0", "linear",
       "host.freeze keeps host.block1.linear as it is");
  kept(Grown(decoder, leyline::tokens_shape(6, 11), quick_growth(), at::arange(12).remainder(11).view({2, 6})), "r0c0",
       "lora", "no single linear layer consumes the output of r0c0");
}

TEST_CASE("a fold whose output differs too much is rolled back bit for bit") {
  auto run = mlp();
  // Sums of large numbers that cancel: the folded layer rounds elsewhere than the two layers do.
  const auto spoil = [&] {
    const at::NoGradGuard no_grad;
    for (const auto& group : run.network.parameter_groups()) {
      for (const auto& named : group.parameters) {
        if (named.id == "seed-0001.bias") named.tensor.fill_(3e7F);
      }
    }
  };
  run.issue(SeedOperation::kGerminate, "r0c0", "linear");
  for (const auto operation : {SeedOperation::kStartTraining, SeedOperation::kStartGrafting, SeedOperation::kStabilize,
                               SeedOperation::kEvaluate}) {
    for (int i = 0; i < 3; ++i) run.end_epoch();
    REQUIRE_FALSE(Growing::rejected(run.issue(operation)));
  }
  for (int i = 0; i < 3; ++i) run.end_epoch();
  run.disturb();
  spoil();
  {
    const at::NoGradGuard no_grad;  // the next layer takes differences of what is huge and equal
    for (const auto& named : run.host()) {
      if (named.id == "host.block1.linear.weight") named.tensor.sub_(named.tensor.mean(1, true));
    }
  }
  std::vector<torch::Tensor> host;
  for (const auto& named : run.host()) host.push_back(named.tensor.detach().clone());
  const auto events = run.issue(SeedOperation::kFossilize);
  REQUIRE(events.back().kind == Kind::kFold);
  INFO(events.back().reason);
  REQUIRE_FALSE(events.back().passed);
  CHECK(run.network.parameter_groups().size() == 2);
  const auto after = run.host();
  for (std::size_t i = 0; i < host.size(); ++i) CHECK(same_bits(after[i].tensor.detach(), host[i]));
}

TEST_CASE("a folded network goes through its topology; its tensors are the host's alone") {
  auto run = mlp();
  run.fossilise("r0c0", "linear");
  const auto saved = run.network.save_topology();
  Network other(tiny_host(), run.growth, tiny_sample(), 7, torch::kCPU);
  other.restore_topology(nlohmann::json::parse(saved.dump()));
  CHECK(other.save_topology() == saved);
  REQUIRE(other.parameter_groups().size() == 1);
  const at::NoGradGuard no_grad;
  const auto from = run.network.parameter_groups()[0].parameters, to = other.parameter_groups()[0].parameters;
  for (std::size_t i = 0; i < from.size(); ++i) to[i].tensor.copy_(from[i].tensor);
  CHECK(same_bits(other.forward(run.probe, Mode::kEvaluate), run.output()));
  CHECK_THROWS_AS(without_seed(saved, kSeed, run.growth), base::Error);
  auto wrong = saved;
  wrong["slots"][0]["stage"] = static_cast<int>(Stage::kProbationary);
  CHECK_THROWS_AS(other.restore_topology(wrong), base::Error);
  CHECK(other.save_topology() == saved);
}

TEST_CASE("rolling back undoes a fold: the host's values, the seed's tensors, the owners") {
  auto run = mlp();
  run.bring_to_trial("r0c0", "linear");
  const auto before = run.output();
  const auto topology = run.network.save_topology();
  {
    auto undone = run.network.open_change();
    const auto folded = undone.apply(run.command(SeedOperation::kFossilize), run.probe);
    REQUIRE(folded.back().kind == Kind::kFold);
    REQUIRE(folded.back().passed);
    CHECK(run.network.scalars().empty());
  }
  CHECK(same_bits(run.output(), before));
  CHECK(run.network.save_topology() == topology);
  CHECK(owner_of(run.network, "seed-0001.weight") == kSeed);
  CHECK(run.network.scalars().size() == 4);
}

// Two columns of gradients are enough to work it out by hand: M = [[2, 1], [0, 1]], t = (3, 5).
TEST_CASE("moments of a folded layer are those that its own gradients would have left") {
  const SlotMap map{at::tensor({2.0, 1.0, 0.0, 1.0}, at::kDouble).view({2, 2}), at::tensor({3.0, 5.0}, at::kDouble)};
  // G' = [[1, 2]], dL/db = 4: dL/dW = G' M^T + 4 t^T = [[4 + 12, 2 + 20]].
  const LayerMoments moments{at::tensor({16.0F, 22.0F}).view({1, 2}), at::tensor({4.0F}),
                             at::tensor({100.0F, 400.0F}).view({1, 2})};
  const auto folded = folded_moments(moments, map);
  REQUIRE(folded);
  CHECK(at::allclose(folded->weight, at::tensor({1.0F, 2.0F}).view({1, 2})));
  CHECK(at::equal(folded->bias, moments.bias));
  // M^-T = [[0.5, 0], [-0.5, 1]], squared [[0.25, 0], [0.25, 1]].
  CHECK(at::allclose(folded->weight_square, at::tensor({125.0F, 400.0F}).view({1, 2})));
}

TEST_CASE("no second moment is below the square of the first; a map without an inverse gives none") {
  at::manual_seed(4);
  const SlotMap map{at::eye(6, at::kDouble) + 0.3 * at::randn({6, 6}, at::kDouble), at::zeros({6}, at::kDouble)};
  const auto first = at::randn({5, 6, 3, 3});
  const auto folded = folded_moments({first, {}, first.square()}, map);
  REQUIRE(folded);
  CHECK(folded->weight_square.ge(folded->weight.square() * 0.99999).all().item<bool>());
  CHECK_FALSE(folded->bias.defined());
  // As a gradient comes back through the map: G = G' M^T, channel by channel.
  const auto back = at::einsum("oihw,ci->ochw", {folded->weight.to(at::kDouble), map.matrix});
  CHECK(at::allclose(back, first.to(at::kDouble), 1e-5, 1e-6));
  auto flat = map;
  flat.matrix.select(0, 2).zero_();
  CHECK_FALSE(folded_moments({first, {}, first.square()}, flat));
  flat.matrix[2][2] = 1e-7;
  CHECK_FALSE(folded_moments({first, {}, {}}, flat));
  flat.matrix[2][2] = NAN;
  CHECK_FALSE(folded_moments({first, {}, {}}, flat));
}

TEST_CASE("a map of many channels is not inverted while training waits") {
  const auto map_of = [](std::int64_t channels) {
    return SlotMap{at::eye(channels, at::kDouble), at::zeros({channels}, at::kDouble)};
  };
  CHECK(folded_moments({at::ones({1, kMostInverted}), {}, {}}, map_of(kMostInverted)));
  CHECK_FALSE(folded_moments({at::ones({1, kMostInverted + 1}), {}, {}}, map_of(kMostInverted + 1)));
}

TEST_CASE("reset moments: the first is zero, the second the layer's largest, larger where the map shrinks") {
  const LayerMoments moments{at::ones({1, 2}), at::ones({1}), at::tensor({4.0F, 0.0F}).view({1, 2})};
  const auto second = [&](double diagonal, double other) {
    const SlotMap map{at::tensor({diagonal, 0.0, 0.0, other}, at::kDouble).view({2, 2}), at::zeros({2}, at::kDouble)};
    const auto fresh = fresh_moments(moments, map);
    CHECK(fresh.weight.count_nonzero().item<std::int64_t>() == 0);
    CHECK(at::equal(fresh.bias, moments.bias));
    CHECK(fresh.weight_square.scalar_type() == at::kFloat);
    CHECK(fresh.weight_square.min().item<float>() == fresh.weight_square.max().item<float>());
    return fresh.weight_square.max().item<double>();
  };
  CHECK(std::abs(second(2, 0) - 4) < 1e-5);  // |M|^2 / C = 2: no less than it was
  CHECK(std::abs(second(1, 0) - 8) < 1e-5);
  CHECK(std::abs(second(0, 0) - 4e4) < 0.1);  // no more than that
  CHECK_FALSE(fresh_moments({at::ones({1, 2}), {}, {}}, {at::eye(2, at::kDouble), {}}).weight_square.defined());
}

TEST_CASE("whether a seed may become a fossil is known from its stage and gate G5") {
  auto run = mlp();
  CHECK_FALSE(may_fossilize(run.network.state(), kSeed));
  run.issue(SeedOperation::kGerminate, "r0c0", "linear");
  CHECK_FALSE(may_fossilize(run.network.state(), kSeed));
  auto growth = quick_growth();
  growth.gates.min_contribution_points = 50;  // it brings 10
  auto without_value = mlp(growth), valuable = mlp();
  for (auto* each : {&without_value, &valuable}) {
    each->bring_to_trial("r0c0", "linear");
    const bool may = may_fossilize(each->network.state(), kSeed);
    CHECK(may == (each == &valuable));
    CHECK(may != Growing::rejected(each->issue(SeedOperation::kFossilize)));
  }
  CHECK_FALSE(may_fossilize(valuable.network.state(), kSeed));
}

}  // namespace
}  // namespace esper::kasmina::fold_test
