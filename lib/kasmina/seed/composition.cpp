#include "kasmina/seed/composition.h"

#include "base/error.h"

namespace esper::kasmina {

using config::Composition;

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
    case Composition::kChannel:
    case Composition::kConfidence:
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

bool fades(Composition kind) {
  switch (kind) {
    case Composition::kConvex:
    case Composition::kGate:
    case Composition::kChannel:
    case Composition::kConfidence:
      return true;
    case Composition::kAdd:
    case Composition::kResidual:
    case Composition::kMultiply:
      break;
  }
  return false;
}

torch::Tensor learned_gate(FeatureKind kind, const torch::Tensor& x, const torch::Tensor& weight,
                           const torch::Tensor& bias) {
  if (kind != FeatureKind::kImage) return at::sigmoid(weight * x + bias);
  const auto pooled = x.mean({2, 3}, true);
  return at::sigmoid(weight.view({1, -1, 1, 1}) * pooled + bias.view({1, -1, 1, 1}));
}

torch::Tensor channel_gate(FeatureKind kind, const torch::Tensor& like, const torch::Tensor& weight) {
  const auto value = weight.detach();
  const auto held = weight + (value.clamp(0, 1) - value);
  switch (kind) {
    case FeatureKind::kFeatures:
      return held.view({1, -1}).expand({like.size(0), -1});
    case FeatureKind::kImage:
      return held.view({1, -1, 1, 1}).expand({like.size(0), -1, -1, -1});
    case FeatureKind::kSequence:
      return held.view({1, 1, -1}).expand({like.size(0), -1, -1});
  }
  ESPER_CHECK(false, "a feature of unknown kind");
  return {};
}

torch::Tensor confidence_gate(FeatureKind kind, const torch::Tensor& s) {
  constexpr double kSteepness = 4.0, kThreshold = 0.2;
  const bool image = kind == FeatureKind::kImage;
  const std::int64_t channels = image ? 1 : -1;
  const auto value = s.detach();
  const auto shares = at::softmax(image ? value.mean({2, 3}, true) : value, channels, at::kFloat);
  if (shares.size(channels) == 1) return at::sigmoid(kSteepness * (shares - kThreshold));
  const auto top = std::get<0>(at::topk(shares, 2, channels));
  const auto margin = top.narrow(channels, 0, 1) - top.narrow(channels, 1, 1);
  return at::sigmoid(kSteepness * (margin - kThreshold));
}

}  // namespace esper::kasmina
