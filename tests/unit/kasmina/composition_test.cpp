#include "kasmina/seed/composition.h"

#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::kasmina::composition_test {
namespace {

using config::Composition;

constexpr auto kAll = {Composition::kAdd,      Composition::kMultiply, Composition::kGate,      Composition::kConvex,
                       Composition::kResidual, Composition::kChannel,  Composition::kConfidence};

torch::Tensor scalar(double value) { return at::scalar_tensor(value, at::kFloat); }
torch::Tensor gradient(const torch::Tensor& of, const torch::Tensor& at) {
  return torch::autograd::grad({of.sum()}, {at}, {}, true, false, true)[0];
}

struct Setting {
  torch::Tensor h = at::randn({4, 3}).requires_grad_();
  torch::Tensor weight = at::randn({3}).requires_grad_();
  torch::Tensor gate = at::rand({4, 3});

  Features features(double isolation) const {
    const auto x = scale_gradient(h, scalar(isolation));
    return {h, x, x * weight, gate};
  }
};

TEST_CASE("a gradient gate keeps the value and scales the gradient") {
  const auto x = at::randn({5}).requires_grad_();
  for (const double gate : {0.0, 0.25, 1.0}) {
    const auto y = scale_gradient(x, scalar(gate));
    CHECK(at::equal(y, x));
    CHECK(at::equal(gradient(y, x), at::full({5}, gate)));
  }
}

TEST_CASE("each composition has its formula's value") {
  const Setting setting;
  const auto f = setting.features(1);
  const auto& h = setting.h;
  const auto a = scalar(0.3);
  const auto close = [](const torch::Tensor& left, const torch::Tensor& right) {
    return at::allclose(left, right, 1e-5, 1e-6);
  };
  CHECK(close(compose(Composition::kAdd, f, a), at::lerp(h, f.seed, a)));
  CHECK(close(compose(Composition::kConvex, f, a), at::lerp(h, f.seed, a)));
  CHECK(close(compose(Composition::kResidual, f, a), h + 0.3 * f.seed));
  CHECK(close(compose(Composition::kMultiply, f, a), h * (1 + 0.3 * at::tanh(f.seed - f.seed_input))));
  for (const auto gated : {Composition::kGate, Composition::kChannel, Composition::kConfidence}) {
    CHECK(close(compose(gated, f, a), at::lerp(h, f.seed, a * f.gate)));
  }
}

TEST_CASE("at alpha 0 every composition is the host's value, bit for bit") {
  const Setting setting;
  for (const auto kind : kAll) CHECK(at::equal(compose(kind, setting.features(0), scalar(0)), setting.h));
}

TEST_CASE("straight through is zero in value and reaches the seed alone") {
  const Setting setting;
  for (const auto kind : kAll) {
    CAPTURE(config::GrowthConfig{}.alpha_ticks, static_cast<int>(kind));
    const auto features = setting.features(0);
    const auto extra = straight_through(kind, features, scalar(1));
    CHECK(at::equal(extra, at::zeros_like(extra)));
    CHECK(gradient(extra, setting.weight).abs().max().item<float>() > 0);
    const auto to_host = gradient(extra, setting.h);
    CHECK((!to_host.defined() || at::equal(to_host, at::zeros_like(to_host))));
    // The gradient is that of the full composition.
    const auto full = compose(kind, features, scalar(1));
    CHECK(at::allclose(gradient(extra, setting.weight), gradient(full, setting.weight)));
    const auto off = gradient(straight_through(kind, features, scalar(0)), setting.weight);
    CHECK(at::equal(off, at::zeros_like(off)));
  }
}

TEST_CASE("ADD keeps the host's own gradient whole while the seed is isolated, at alpha 1 too") {
  const Setting setting;
  for (const double alpha : {0.0, 0.5, 1.0}) {
    const auto out = compose(Composition::kAdd, setting.features(0), scalar(alpha));
    CHECK(at::equal(gradient(out, setting.h), at::ones({4, 3})));
  }
}

TEST_CASE("CONVEX hands the host's gradient over to the seed as alpha rises") {
  const Setting setting;
  const auto closed = compose(Composition::kConvex, setting.features(0), scalar(0.75));
  CHECK(at::allclose(gradient(closed, setting.h), at::full({4, 3}, 0.25)));
  const auto open = compose(Composition::kConvex, setting.features(1), scalar(1));
  CHECK(at::allclose(gradient(open, setting.h), setting.weight.expand({4, 3})));
}

TEST_CASE("an open seed passes its gradient to the host") {
  const Setting setting;
  const auto out = compose(Composition::kAdd, setting.features(1), scalar(1));
  CHECK(at::allclose(gradient(out, setting.h), setting.weight.expand({4, 3}), 1e-5, 1e-6));
}

TEST_CASE("a composition whose host path fades is one of those that open the seed's input") {
  const Setting setting;
  for (const auto kind : kAll) {
    CAPTURE(static_cast<int>(kind));
    const auto along_h = gradient(compose(kind, setting.features(0), scalar(0.5)), setting.h);
    const bool whole = at::allclose(along_h, at::ones({4, 3}));
    if (kind != Composition::kMultiply) CHECK(fades(kind) == !whole);
  }
}

TEST_CASE("the gate of CHANNEL is its weight clamped to 0..1, with the gradient of the weight itself") {
  const auto weight = at::tensor({-0.5F, 0.0F, 0.25F, 1.0F, 1.75F}).requires_grad_();
  const auto expected = at::tensor({0.0F, 0.0F, 0.25F, 1.0F, 1.0F});
  const std::vector<std::pair<FeatureKind, std::vector<std::int64_t>>> shapes = {
      {FeatureKind::kFeatures, {3, 5}}, {FeatureKind::kImage, {3, 5, 1, 1}}, {FeatureKind::kSequence, {3, 1, 5}}};
  for (const auto& [kind, sizes] : shapes) {
    const auto gate = channel_gate(kind, at::zeros({3, 1}), weight);
    CHECK(gate.sizes() == torch::IntArrayRef(sizes));
    CHECK(at::allclose(gate.reshape({3, 5})[2], expected, 0, 1e-6));
    CHECK(at::equal(gradient(gate, weight), at::full({5}, 3.0)));
  }
  // Open channels are the seed's, shut ones the host's, at alpha 1.
  const auto h = at::randn({3, 5}), s = at::randn({3, 5});
  const auto out =
      compose(Composition::kChannel, {h, h, s, channel_gate(FeatureKind::kFeatures, h, weight)}, scalar(1));
  CHECK(at::allclose(out.select(1, 3), s.select(1, 3)));
  CHECK(at::allclose(out.select(1, 0), h.select(1, 0)));
}

TEST_CASE("the gate of CONFIDENCE follows its formula, sample by sample and token by token, without a gradient") {
  // log of the shares 0.7, 0.2, 0.1 and of 0.4, 0.4, 0.2
  const auto s = at::tensor({0.7F, 0.2F, 0.1F, 0.4F, 0.4F, 0.2F}).log().view({2, 3}).requires_grad_();
  const auto gate = confidence_gate(FeatureKind::kFeatures, s);
  REQUIRE(gate.sizes() == torch::IntArrayRef({2, 1}));
  CHECK_FALSE(gate.requires_grad());
  const auto expected = [](double margin) { return 1 / (1 + std::exp(-4 * (margin - 0.2))); };
  CHECK(std::abs(gate[0].item<double>() - expected(0.5)) < 1e-6);
  CHECK(std::abs(gate[1].item<double>() - expected(0)) < 1e-6);
  const auto value = s.detach();
  const auto image = confidence_gate(FeatureKind::kImage, value.view({2, 3, 1, 1}).expand({2, 3, 4, 4}));
  CHECK(image.sizes() == torch::IntArrayRef({2, 1, 1, 1}));
  CHECK(at::allclose(image.view({2, 1}), gate));
  const auto tokens = confidence_gate(FeatureKind::kSequence, value.view({1, 2, 3}));
  CHECK(at::allclose(tokens.view({2, 1}), gate));
  // One channel speaks as clearly as can be.
  CHECK(std::abs(confidence_gate(FeatureKind::kFeatures, at::ones({2, 1}))[0].item<double>() - expected(1)) < 1e-6);
}

TEST_CASE("the gate of GATE pools images and keeps tokens apart") {
  const auto weight = at::randn({3}), bias = at::randn({3});
  const auto image = at::randn({2, 3, 4, 4});
  const auto gate = learned_gate(FeatureKind::kImage, image, weight, bias);
  CHECK(gate.sizes() == torch::IntArrayRef({2, 3, 1, 1}));
  CHECK(at::allclose(gate.view({2, 3}), at::sigmoid(weight * image.mean({2, 3}) + bias)));
  auto tokens = at::randn({2, 5, 3});
  const auto before = learned_gate(FeatureKind::kSequence, tokens, weight, bias);
  tokens.select(1, 4).add_(1);
  const auto after = learned_gate(FeatureKind::kSequence, tokens, weight, bias);
  CHECK(at::equal(before.slice(1, 0, 4), after.slice(1, 0, 4)));
}

}  // namespace
}  // namespace esper::kasmina::composition_test
