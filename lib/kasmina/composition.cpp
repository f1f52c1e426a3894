#include "kasmina/composition.h"

#include "leyline/error.h"

namespace esper::kasmina {

using leyline::Composition;

torch::Tensor scale_gradient(const torch::Tensor& x, const torch::Tensor& gate) {
  const auto value = x.detach();
  return value + gate * (x - value);
}

torch::Tensor full_change(Composition kind, const Features& features) {
  const auto& [h, x, s, gate] = features;
  switch (kind) {
    case Composition::kAdd:
      return s - x;
    case Composition::kConvex:
      return s - h;
    case Composition::kResidual:
      return s;
    case Composition::kMultiply:
      return h * at::tanh(s - x);
    case Composition::kGate:
      return gate * (s - h);
  }
  ESPER_CHECK(false, "unknown composition");
  return {};
}

torch::Tensor compose(Composition kind, const Features& features, const torch::Tensor& alpha) {
  return features.host + alpha * full_change(kind, features);
}

torch::Tensor straight_through(Composition kind, const Features& features, const torch::Tensor& amount) {
  const auto change =
      full_change(kind, {features.host.detach(), features.seed_input.detach(), features.seed, features.gate});
  return amount * (change - change.detach());
}

torch::Tensor channel_gate(FeatureKind kind, const torch::Tensor& x, const torch::Tensor& weight,
                           const torch::Tensor& bias) {
  if (kind != FeatureKind::kImage) return at::sigmoid(weight * x + bias);
  const auto pooled = x.mean({2, 3}, true);
  return at::sigmoid(weight.view({1, -1, 1, 1}) * pooled + bias.view({1, -1, 1, 1}));
}

}  // namespace esper::kasmina
