#include "kasmina/composition.h"

#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>

namespace esper::kasmina {
namespace {

using leyline::Composition;

constexpr auto kAll = {Composition::kAdd, Composition::kMultiply, Composition::kGate, Composition::kConvex,
                       Composition::kResidual};

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
  CHECK(close(compose(Composition::kGate, f, a), at::lerp(h, f.seed, a * f.gate)));
}

TEST_CASE("at alpha 0 every composition is the host's value, bit for bit") {
  const Setting setting;
  for (const auto kind : kAll) CHECK(at::equal(compose(kind, setting.features(0), scalar(0)), setting.h));
}

TEST_CASE("straight through is zero in value and reaches the seed alone") {
  const Setting setting;
  for (const auto kind : kAll) {
    CAPTURE(leyline::GrowthConfig{}.alpha_ticks, static_cast<int>(kind));
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

TEST_CASE("the channel gate pools images and keeps tokens apart") {
  const auto weight = at::randn({3}), bias = at::randn({3});
  const auto image = at::randn({2, 3, 4, 4});
  const auto gate = channel_gate(FeatureKind::kImage, image, weight, bias);
  CHECK(gate.sizes() == torch::IntArrayRef({2, 3, 1, 1}));
  CHECK(at::allclose(gate.view({2, 3}), at::sigmoid(weight * image.mean({2, 3}) + bias)));
  auto tokens = at::randn({2, 5, 3});
  const auto before = channel_gate(FeatureKind::kSequence, tokens, weight, bias);
  tokens.select(1, 4).add_(1);
  const auto after = channel_gate(FeatureKind::kSequence, tokens, weight, bias);
  CHECK(at::equal(before.slice(1, 0, 4), after.slice(1, 0, 4)));
}

}  // namespace
}  // namespace esper::kasmina
