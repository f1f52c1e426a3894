#include "kasmina/blueprint/blueprint.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "base/error.h"
#include "kasmina/seed/block_copy.h"
#include "leyline/blueprint/blueprint_sizes.h"
#include "support/committed_file.h"

namespace esper::kasmina::blueprint_test {
namespace {

constexpr std::int64_t kBatch = 4;

FeatureShape features(std::int64_t channels) { return {.kind = FeatureKind::kFeatures, .channels = channels}; }
FeatureShape image(std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {.kind = FeatureKind::kImage, .channels = channels, .height = height, .width = width};
}
FeatureShape sequence(std::int64_t channels, std::int64_t tokens) {
  return {.kind = FeatureKind::kSequence, .channels = channels, .tokens = tokens};
}

std::vector<FeatureShape> many_shapes() {
  return {features(1),     features(3),     features(16),     features(64),    features(200),
          image(1, 1, 1),  image(1, 4, 4),  image(3, 2, 5),   image(8, 4, 4),  image(16, 1, 1),
          image(24, 3, 3), image(64, 2, 2), image(128, 3, 1), sequence(1, 4),  sequence(8, 1),
          sequence(12, 7), sequence(48, 5), sequence(64, 16), sequence(384, 3)};
}

torch::Tensor random_feature(const FeatureShape& shape) {
  switch (shape.kind) {
    case FeatureKind::kFeatures:
      return at::randn({kBatch, shape.channels});
    case FeatureKind::kImage:
      return at::randn({kBatch, shape.channels, shape.height, shape.width});
    case FeatureKind::kSequence:
      return at::randn({kBatch, shape.tokens, shape.channels});
  }
  return {};
}

// A transformer or cnn with one slot of this shape, or no host.
Host host_before(const FeatureShape& shape) {
  config::HostConfig config;
  if (shape.kind == FeatureKind::kFeatures) {
    Host none;
    none.sites = {{"r0c0", shape}};
    return none;
  }
  if (shape.kind == FeatureKind::kImage) {
    config.kind = config::HostKind::kCnn;
    config.blocks = config.residual_blocks = 1;
    config.pool_layers = 0;
    config.base_channels = shape.channels;
    return build_host(config, leyline::image_shape(3, shape.height, shape.width, 5), 3, torch::kCPU);
  }
  config.kind = config::HostKind::kTransformer;
  config.layers = config.segments = 1;
  config.embedding = shape.channels;
  config.heads = leyline::num_heads(shape.channels);
  return build_host(config, leyline::tokens_shape(shape.tokens, 5), 3, torch::kCPU);
}

// As it is when it is grown.
SeedModule build(const Blueprint& row, const FeatureShape& shape, const std::string& id = "seed-0001") {
  const Host host = host_before(shape);
  Seed seed;
  seed.id = id;
  seed.kind = {&row};
  seed.module = build_seed(seed.kind, host.sites[0], id, 11, torch::kCPU);
  copy_block(seed, host.sites[0], host.tensors);
  return seed.module;
}

// Calls `check` for every row of the catalogue at every shape it can be grown at. Widenings map no feature to a
// feature: widening_test.cpp.
template <class Check>
void for_every_module(Check check) {
  for (const Blueprint& row : blueprints()) {
    if (row.birth == Birth::kWidening) continue;
    int built = 0;
    for (const FeatureShape& shape : many_shapes()) {
      if (!may_fit(row, shape)) continue;
      INFO(row.name << " at " << to_string(shape.kind) << " of " << shape.channels << " channels, " << shape.height
                    << " x " << shape.width << ", " << shape.tokens << " tokens");
      check(row, shape);
      ++built;
    }
    INFO(row.name);
    CHECK(built >= 3);
  }
}

// One step of plain gradient descent towards `target`; returns the loss before it, in double precision: one step of a
// module with few parameters may change it by less than a float holds.
double descend(const SeedModule& seed, const torch::Tensor& x, const torch::Tensor& target, double rate) {
  for (const auto& [id, tensor] : seed.tensors.parameters) tensor.mutable_grad() = torch::Tensor();
  const torch::Tensor loss = (seed.forward(x, Mode::kTrain) - target).to(at::kDouble).square().mean();
  loss.backward();
  at::NoGradGuard guard;
  for (const auto& [id, tensor] : seed.tensors.parameters) {
    if (tensor.grad().defined()) tensor.sub_(tensor.grad() * rate);
  }
  return loss.item<double>();
}

TEST_CASE("the formula of the parameter count is what the module holds, at every shape") {
  for_every_module([](const Blueprint& row, const FeatureShape& shape) {
    CHECK(row.num_parameters(shape) == build(row, shape).tensors.num_parameters());
  });
}

TEST_CASE("parameter counts at the reference shapes") {
  const auto count = [](std::string_view name, const FeatureShape& shape) {
    return find_blueprint(name, shape.kind)->num_parameters(shape);
  };
  const FeatureShape cnn = image(64, 8, 8), transformer = sequence(384, 256);
  CHECK(count("norm", cnn) == 129);
  CHECK(count("attention", cnn) == 2128);
  CHECK(count("depthwise", cnn) == 4800);
  CHECK(count("bottleneck", cnn) == 4480);
  CHECK(count("conv_small", cnn) == 4224);
  CHECK(count("conv_light", cnn) == 36992);
  CHECK(count("conv_heavy", cnn) == 73984);
  CHECK(count("norm", transformer) == 769);
  CHECK(count("lora", transformer) == 6144);
  CHECK(count("lora_large", transformer) == 24576);
  CHECK(count("attention", transformer) == 591360);
  CHECK(count("mlp_small", transformer) == 590976);
  CHECK(count("mlp", transformer) == 1181568);
  CHECK(count("flex_attention", transformer) == 591366);
  CHECK(count("copy_block", transformer) == 1774464);
}

// Each weight is used once at every place it is applied at; attention adds its two products over pairs of tokens.
TEST_CASE("multiply-adds follow from the module's tensors") {
  for_every_module([](const Blueprint& row, const FeatureShape& shape) {
    const std::int64_t pixels = shape.kind == FeatureKind::kImage ? shape.height * shape.width : 1;
    const std::int64_t tokens = shape.kind == FeatureKind::kSequence ? shape.tokens : 1;
    const SeedModule seed = build(row, shape);
    std::int64_t expected = 0;
    for (const auto& [id, tensor] : seed.tensors.parameters) {
      if (tensor.dim() == 4) expected += tensor.numel() * pixels;
      if (tensor.dim() == 2) expected += tensor.numel() * tokens;
      if (id.find("norm") != std::string::npos && id.ends_with(".weight")) expected += tensor.numel() * pixels * tokens;
      if (id.ends_with(".scale")) expected += shape.channels * pixels * tokens;
      if (id.ends_with(".slope")) expected += tensor.numel() * tokens * tokens;
      if (id.ends_with(".qkv.bias")) expected += 2 * tokens * tokens * shape.channels;
      if (row.name == "attention" && id.ends_with(".up.bias")) expected += shape.channels * pixels;
    }
    CHECK(row.flops(shape) == expected);
  });
}

TEST_CASE("the output has the feature's shape, and evaluation is deterministic and like training") {
  for_every_module([](const Blueprint& row, const FeatureShape& shape) {
    const SeedModule seed = build(row, shape);
    const torch::Tensor x = random_feature(shape);
    const torch::Tensor y = seed.forward(x, Mode::kEvaluate);
    CHECK(y.sizes() == x.sizes());
    CHECK(y.isfinite().all().item<bool>());
    CHECK(seed.forward(x, Mode::kEvaluate).equal(y));
    const bool has_batch_norm = row.birth != Birth::kDrawn && row.fits == FeatureKind::kImage;
    CHECK(seed.tensors.buffers.empty() == !has_batch_norm);
  });
}

TEST_CASE("only neutral modules return their input at birth") {
  for_every_module([](const Blueprint& row, const FeatureShape& shape) {
    const torch::Tensor x = random_feature(shape).abs();  // as a ReLU leaves it, which ends a residual block
    const double change = (build(row, shape).forward(x, Mode::kTrain) - x).abs().max().item<double>();
    CHECK((change == 0) == row.start.starts_with("neutral: "));
  });
}

TEST_CASE("a gradient reaches every parameter within three steps, and descent lowers the loss") {
  for_every_module([](const Blueprint& row, const FeatureShape& shape) {
    if (shape.channels < 8 || row.name == "noop") return;  // with fewer, a ReLU may hide the only unit
    const SeedModule seed = build(row, shape);
    const torch::Tensor x = random_feature(shape), target = random_feature(shape);
    std::set<std::string> reached;
    double first = 0, last = 0;
    for (int step = 0; step < 10; ++step) {
      last = descend(seed, x, target, 0.3);
      if (step == 0) first = last;
      for (const auto& [id, tensor] : seed.tensors.parameters) {
        if (step < 3 && tensor.grad().defined() && tensor.grad().abs().max().item<double>() > 0) reached.insert(id);
      }
    }
    for (const auto& [id, tensor] : seed.tensors.parameters) {
      INFO(id);
      CHECK(reached.count(id) == 1);
    }
    CHECK(last < first);
  });
}

TEST_CASE("a module for sequences sees no later token, even after training, and takes shorter sequences") {
  for (const Blueprint& row : blueprints()) {
    const bool is_widening = row.birth == Birth::kWidening;
    if (row.fits != FeatureKind::kSequence || is_widening || row.name == "noop") continue;
    INFO(row.name);
    const FeatureShape shape = sequence(64, 9);
    const SeedModule seed = build(row, shape);
    const torch::Tensor x = random_feature(shape);
    for (int step = 0; step < 3; ++step) descend(seed, x, random_feature(shape), 0.3);
    const torch::Tensor changed = x.clone();
    changed.select(1, 8).add_(1);
    const torch::Tensor y = seed.forward(x, Mode::kEvaluate);
    const torch::Tensor z = seed.forward(changed, Mode::kEvaluate);
    CHECK((y - z).narrow(1, 0, 8).abs().max().item<double>() < 1e-6);
    CHECK((seed.forward(x.narrow(1, 0, 5), Mode::kEvaluate) - y.narrow(1, 0, 5)).abs().max().item<double>() < 1e-5);
  }
}

TEST_CASE("flexible attention starts with the slopes 2^(-8 (h + 1) / heads)") {
  const SeedModule seed = build(*find_blueprint("flex_attention", FeatureKind::kSequence), sequence(128, 4));
  const torch::Tensor slope = seed.tensors.parameters.back().tensor;
  REQUIRE(slope.sizes() == torch::IntArrayRef({2}));
  const torch::Tensor fall = slope.exp().log1p();
  CHECK(std::abs(fall[0].item<double>() - 1.0 / 16) < 1e-6);
  CHECK(std::abs(fall[1].item<double>() - 1.0 / 256) < 1e-6);
}

TEST_CASE("names are unique for each kind of feature and stand for one place in the policy's head") {
  std::set<std::pair<std::string_view, FeatureKind>> seen;
  std::map<std::string_view, int> index{{"noop", 0},
                                        {"conv_light", 1},
                                        {"attention", 2},
                                        {"norm", 3},
                                        {"depthwise", 4},
                                        {"bottleneck", 5},
                                        {"conv_small", 6},
                                        {"conv_heavy", 7},
                                        {"lora", 8},
                                        {"lora_large", 9},
                                        {"mlp_small", 10},
                                        {"mlp", 11},
                                        {"flex_attention", 12},
                                        {"linear", 13},
                                        {"pointwise", 14},
                                        {"copy_block", 15},
                                        {"copy_block_plain", 16},
                                        {"widen", 17},
                                        {"widen_half", 18}};
  for (const Blueprint& row : blueprints()) {
    CHECK(seen.insert({row.name, row.fits}).second);
    REQUIRE(index.count(row.name) == 1);
    CHECK(row.policy_index == index.at(row.name));
    CHECK(find_blueprint(row.name, row.fits) == &row);
  }
  CHECK(find_blueprint("conv_light", FeatureKind::kSequence) == nullptr);
}

TEST_CASE("a module that does not fit is rejected with a message") {
  const auto why = [](std::string_view name, FeatureKind kind, const FeatureShape& shape) {
    return check_fit(*find_blueprint(name, kind), shape).error_or("");
  };
  CHECK(why("conv_light", FeatureKind::kImage, features(8)) ==
        "it fits features of kind image, but this one has kind features");
  CHECK(why("conv_light", FeatureKind::kImage, image(8, 1, 1)) ==
        "a 3x3 convolution of a single pixel sees padding only");
  CHECK(why("conv_light", FeatureKind::kImage, image(8, 1, 2)).empty());
  CHECK(why("bottleneck", FeatureKind::kImage, image(8, 4, 4)) ==
        "a bottleneck of 8 channels needs more than the 8 there are");
  CHECK(why("conv_small", FeatureKind::kImage, image(1, 1, 1)) == "the norm of a single value is zero");
  CHECK(why("norm", FeatureKind::kSequence, sequence(1, 4)) == "the norm of a single channel is zero");
  CHECK(why("lora_large", FeatureKind::kSequence, sequence(32, 4)) == "rank 32 is not low for 32 channels");
  CHECK(why("attention", FeatureKind::kSequence, sequence(32, 1)) == "attention needs more than one token");
  CHECK_THROWS_AS(build(*find_blueprint("lora", FeatureKind::kFeatures), features(8)), base::Error);
}

TEST_CASE("every row of the table has its builder, in the table's order") {
  const auto table = leyline::blueprint_table();
  REQUIRE(blueprints().size() == table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Blueprint& row = blueprints()[i];
    CHECK(row.name == table[i].name);
    CHECK(row.fits == table[i].fits);
    CHECK((row.build != nullptr) == (row.birth == Birth::kDrawn));
    CHECK(leyline::find_blueprint_facts(row.name, row.fits) == &table[i]);
    CHECK(leyline::is_blueprint(row.name));
  }
  CHECK_FALSE(leyline::is_blueprint("conv_lite"));
}

TEST_CASE("a seed's tensors carry its id, and start the same whenever it grows") {
  const Blueprint& row = *find_blueprint("conv_heavy", FeatureKind::kImage);
  const SeedModule a = build(row, image(8, 4, 4)), b = build(row, image(8, 4, 4));
  const SeedModule other = build(row, image(8, 4, 4), "seed-0002");
  CHECK(a.tensors.parameters[0].id == "seed-0001.conv1.weight");
  CHECK(a.tensors.parameters[0].tensor.equal(b.tensors.parameters[0].tensor));
  CHECK_FALSE(a.tensors.parameters[0].tensor.equal(other.tensors.parameters[0].tensor));
}

TEST_CASE("docs/blueprints.md is what the catalogue prints") {
  test::check_committed_file("docs/blueprints.md", blueprint_markdown());
}

}  // namespace
}  // namespace esper::kasmina::blueprint_test
