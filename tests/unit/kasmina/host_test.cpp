#include "kasmina/host/host.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/error.h"

namespace esper::kasmina::host_test {
namespace {

using config::HostConfig;
using config::HostKind;
using leyline::SampleKind;
using leyline::SampleShape;

const SampleShape kFlat{.kind = SampleKind::kFeatures, .features = 64, .num_classes = 10};
const SampleShape kPicture{
    .kind = SampleKind::kImage, .features = 192, .channels = 3, .height = 8, .width = 8, .num_classes = 10};
const SampleShape kText{.kind = SampleKind::kTokens, .context = 12, .num_classes = 65};

HostConfig config(HostKind kind) {
  HostConfig c;
  c.kind = kind;
  c.hidden = {16, 24};
  c.blocks = 3;
  c.base_channels = 4;
  c.pool_layers = 2;
  c.layers = 3;
  c.embedding = 32;
  c.heads = 4;
  c.segments = 2;
  return c;
}

struct Case {
  HostKind kind;
  SampleShape sample;
  torch::Tensor inputs;
  std::vector<std::int64_t> logits;
};

std::vector<Case> cases() {
  return {{HostKind::kLinear, kFlat, at::randn({5, 64}), {5, 10}},
          {HostKind::kLinear, kPicture, at::randn({5, 3, 8, 8}), {5, 10}},
          {HostKind::kMlp, kFlat, at::randn({5, 64}), {5, 10}},
          {HostKind::kMlp, kPicture, at::randn({5, 3, 8, 8}), {5, 10}},
          {HostKind::kCnn, kPicture, at::randn({5, 3, 8, 8}), {5, 10}},
          {HostKind::kTransformer, kText, at::randint(65, {5, 12}, torch::kInt64), {5, 12, 65}}};
}

torch::Tensor no_growth(std::size_t, const torch::Tensor& feature) { return feature; }

std::vector<std::int64_t> batched(const FeatureShape& shape, std::int64_t batch) {
  switch (shape.kind) {
    case FeatureKind::kFeatures:
      return {batch, shape.channels};
    case FeatureKind::kImage:
      return {batch, shape.channels, shape.height, shape.width};
    case FeatureKind::kSequence:
      return {batch, shape.tokens, shape.channels};
  }
  return {};
}

std::vector<std::string> ids(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> out;
  for (const auto& named : tensors) out.push_back(named.id);
  return out;
}

torch::Tensor find(const Host& host, const std::string& id) {
  for (const auto& named : host.tensors.parameters) {
    if (named.id == id) return named.tensor;
  }
  FAIL("no parameter " << id);
  return {};
}

TEST_CASE("every host turns its inputs into logits and shows its hook features of the stated shape") {
  for (const Case& c : cases()) {
    const Host host = build_host(config(c.kind), c.sample, 1, torch::kCPU);
    std::vector<std::size_t> seen;
    const auto hook = [&](std::size_t slot, const torch::Tensor& feature) {
      CHECK(feature.sizes() == torch::IntArrayRef(batched(host.sites.at(slot).shape, 5)));
      seen.push_back(slot);
      return feature;
    };
    CHECK(host.forward(c.inputs, Mode::kTrain, hook).sizes() == torch::IntArrayRef(c.logits));
    REQUIRE(seen.size() == host.sites.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      CHECK(seen[i] == i);
      CHECK(host.sites[i].id == "r0c" + std::to_string(i));
    }
  }
}

TEST_CASE("what the hook returns is what goes on") {
  for (const Case& c : cases()) {
    const Host host = build_host(config(c.kind), c.sample, 1, torch::kCPU);
    const torch::Tensor plain = host.forward(c.inputs, Mode::kEvaluate, no_growth);
    for (std::size_t changed = 0; changed < host.sites.size(); ++changed) {
      const auto hook = [&](std::size_t slot, const torch::Tensor& x) { return slot == changed ? x * 2 + 1 : x; };
      CHECK_FALSE(host.forward(c.inputs, Mode::kEvaluate, hook).equal(plain));
    }
  }
}

TEST_CASE("from each slot on a host gives what the whole of it gave, and changes nothing where it is read-only") {
  for (const Case& c : cases()) {
    const Host host = build_host(config(c.kind), c.sample, 1, torch::kCPU);
    std::vector<torch::Tensor> features;
    const auto keep = [&](std::size_t, const torch::Tensor& feature) { return features.emplace_back(feature); };
    const torch::Tensor logits = host.forward(c.inputs, Mode::kTrain, keep);
    std::vector<torch::Tensor> buffers;
    for (const auto& [id, tensor] : host.tensors.buffers) buffers.push_back(tensor.clone());
    for (std::size_t slot = 0; slot < features.size(); ++slot) {
      std::vector<std::size_t> behind;
      const auto see = [&](std::size_t at, const torch::Tensor& feature) {
        behind.push_back(at);
        return feature;
      };
      CHECK(at::allclose(host.forward_from(slot, features[slot], Mode::kTrainReadOnly, see), logits, 1e-5, 1e-6));
      CHECK(behind.size() == features.size() - slot - 1);
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) CHECK(host.tensors.buffers[i].tensor.equal(buffers[i]));
  }
}

TEST_CASE("a gradient reaches every parameter of every host") {
  for (const Case& c : cases()) {
    const Host host = build_host(config(c.kind), c.sample, 1, torch::kCPU);
    const torch::Tensor logits = host.forward(c.inputs, Mode::kTrain, no_growth).flatten(0, -2);
    at::cross_entropy_loss(logits, at::randint(10, {logits.size(0)}, torch::kInt64)).backward();
    for (const auto& [id, tensor] : host.tensors.parameters) {
      INFO(id);
      REQUIRE(tensor.grad().defined());
      CHECK(tensor.grad().abs().max().item<float>() > 0);
    }
  }
}

TEST_CASE("evaluation is deterministic and changes no buffer; dropout acts in training alone") {
  for (const Case& c : cases()) {
    HostConfig with_dropout = config(c.kind);
    with_dropout.dropout = 0.3;
    const Host host = build_host(with_dropout, c.sample, 1, torch::kCPU);
    const torch::Tensor first = host.forward(c.inputs, Mode::kEvaluate, no_growth);
    CHECK(host.forward(c.inputs, Mode::kEvaluate, no_growth).equal(first));
    const bool random = c.kind == HostKind::kMlp || c.kind == HostKind::kTransformer;
    CHECK(host.forward(c.inputs, Mode::kTrain, no_growth).equal(host.forward(c.inputs, Mode::kTrain, no_growth)) !=
          random);
  }
}

TEST_CASE("the ids of a host's tensors are the documented ones") {
  CHECK(ids(build_host(config(HostKind::kLinear), kFlat, 1, torch::kCPU).tensors.parameters) ==
        std::vector<std::string>{"host.head.weight", "host.head.bias"});
  CHECK(ids(build_host(config(HostKind::kMlp), kFlat, 1, torch::kCPU).tensors.parameters) ==
        std::vector<std::string>{"host.block0.linear.weight", "host.block0.linear.bias", "host.block1.linear.weight",
                                 "host.block1.linear.bias", "host.head.weight", "host.head.bias"});
  HostConfig one = config(HostKind::kCnn);
  one.blocks = 1;
  const Host cnn = build_host(one, kPicture, 1, torch::kCPU);
  CHECK(ids(cnn.tensors.parameters) == std::vector<std::string>{"host.block0.conv.weight", "host.block0.norm.weight",
                                                                "host.block0.norm.bias", "host.head.weight",
                                                                "host.head.bias"});
  CHECK(ids(cnn.tensors.buffers) == std::vector<std::string>{"host.block0.norm.running_mean",
                                                             "host.block0.norm.running_var",
                                                             "host.block0.norm.num_batches_tracked"});
  HostConfig single = config(HostKind::kTransformer);
  single.layers = single.segments = 1;
  CHECK(ids(build_host(single, kText, 1, torch::kCPU).tensors.parameters) ==
        std::vector<std::string>{
            "host.tokens.weight", "host.positions.weight", "host.layer0.norm1.weight", "host.layer0.norm1.bias",
            "host.layer0.attention.qkv.weight", "host.layer0.attention.qkv.bias", "host.layer0.attention.proj.weight",
            "host.layer0.attention.proj.bias", "host.layer0.norm2.weight", "host.layer0.norm2.bias",
            "host.layer0.mlp.up.weight", "host.layer0.mlp.up.bias", "host.layer0.mlp.down.weight",
            "host.layer0.mlp.down.bias", "host.norm.weight", "host.norm.bias"});
}

TEST_CASE("a block starts the same whatever else the host holds") {
  HostConfig longer = config(HostKind::kCnn);
  longer.blocks = 5;
  const Host a = build_host(config(HostKind::kCnn), kPicture, 1, torch::kCPU);
  const Host b = build_host(longer, kPicture, 1, torch::kCPU);
  CHECK(find(a, "host.block1.conv.weight").equal(find(b, "host.block1.conv.weight")));
}

TEST_CASE("parameter counts are those of the shapes") {
  CHECK(build_host(config(HostKind::kLinear), kFlat, 1, torch::kCPU).tensors.num_parameters() == 64 * 10 + 10);
  CHECK(build_host(config(HostKind::kMlp), kFlat, 1, torch::kCPU).tensors.num_parameters() ==
        64 * 16 + 16 + 16 * 24 + 24 + 24 * 10 + 10);
  CHECK(build_host(config(HostKind::kCnn), kPicture, 1, torch::kCPU).tensors.num_parameters() ==
        9 * (3 * 4 + 4 * 8 + 8 * 16) + 2 * (4 + 8 + 16) + 16 * 10 + 10);
  const std::int64_t layer = 12 * 32 * 32 + 13 * 32;
  CHECK(build_host(config(HostKind::kTransformer), kText, 1, torch::kCPU).tensors.num_parameters() ==
        65 * 32 + 12 * 32 + 3 * layer + 2 * 32);
}

TEST_CASE("a transformer sees no later token, starts near the uniform guess, and takes shorter sequences") {
  const Host host = build_host(config(HostKind::kTransformer), kText, 1, torch::kCPU);
  const torch::Tensor tokens = at::randint(65, {2, 12}, torch::kInt64);
  torch::Tensor changed = tokens.clone();
  changed.select(1, 11).fill_(0);
  tokens.select(1, 11).fill_(1);
  const torch::Tensor a = host.forward(tokens, Mode::kEvaluate, no_growth);
  const torch::Tensor b = host.forward(changed, Mode::kEvaluate, no_growth);
  CHECK((a - b).narrow(1, 0, 11).abs().max().item<float>() < 1e-6f);
  CHECK((a - b).select(1, 11).abs().max().item<float>() > 1e-3f);
  const torch::Tensor shorter = host.forward(tokens.narrow(1, 0, 7), Mode::kEvaluate, no_growth);
  CHECK((shorter - a.narrow(1, 0, 7)).abs().max().item<float>() < 1e-5f);
  const double loss = at::cross_entropy_loss(a.flatten(0, 1), at::randint(65, {24}, torch::kInt64)).item<double>();
  CHECK(std::abs(loss - std::log(65.0)) < 0.2);
}

TEST_CASE("a host that does not fit the data is rejected with a remedy") {
  using Catch::Matchers::ContainsSubstring;
  using Catch::Matchers::MessageMatches;
  const auto build = [](const HostConfig& c, const SampleShape& sample) {
    return build_host(c, sample, 1, torch::kCPU);
  };
  HostConfig deep = config(HostKind::kCnn);
  deep.blocks = deep.pool_layers = 4;
  CHECK_THROWS_MATCHES(build(deep, kPicture), base::Error,
                       MessageMatches(ContainsSubstring("8 x 8 pixels; it must be <= 3")));
  deep.blocks = 3;
  CHECK(build(deep, kPicture).sites.back().shape.height == 1);
  CHECK_THROWS_MATCHES(build(config(HostKind::kCnn), kFlat), base::Error,
                       MessageMatches(ContainsSubstring("data.shape")));
  CHECK_THROWS_MATCHES(build(config(HostKind::kMlp), kText), base::Error,
                       MessageMatches(ContainsSubstring("use transformer")));
  CHECK_THROWS_MATCHES(build(config(HostKind::kTransformer), kFlat), base::Error,
                       MessageMatches(ContainsSubstring("data.kind: text")));
  HostConfig odd = config(HostKind::kTransformer);
  odd.heads = 5;
  CHECK_THROWS_MATCHES(build(odd, kText), base::Error, MessageMatches(ContainsSubstring("host.heads: 5")));
  odd.heads = 4;
  odd.segments = 4;
  CHECK_THROWS_MATCHES(build(odd, kText), base::Error, MessageMatches(ContainsSubstring("host.segments: 4")));
  HostConfig even = config(HostKind::kCnn);
  even.kernel = 2;
  CHECK_THROWS_MATCHES(build(even, kPicture), base::Error, MessageMatches(ContainsSubstring("host.kernel: 2")));
}

}  // namespace
}  // namespace esper::kasmina::host_test
