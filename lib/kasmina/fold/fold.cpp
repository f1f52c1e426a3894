#include "kasmina/fold/fold.h"

#include <ATen/ops/einsum.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_inv_ex.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "device/precision.h"
#include "kasmina/seed/composition.h"

namespace esper::kasmina {

using config::Composition;

namespace {

constexpr double kTiny = 1e-30;  // avoids division by zero

// C vectors of C channels, each as the feature of a one-position sample.
torch::Tensor as_features(const torch::Tensor& vectors, FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kFeatures:
      return vectors;
    case FeatureKind::kImage:
      return vectors.unsqueeze(-1).unsqueeze(-1);
    case FeatureKind::kSequence:
      return vectors.unsqueeze(1);
  }
  ESPER_CHECK(false, "a feature of unknown kind");
  return {};
}

torch::Tensor run(const Seed& seed, const torch::Tensor& vectors) {
  const auto out = seed.module.forward(as_features(vectors, seed.shape.kind), Mode::kEvaluate);
  return out.flatten(1).to(at::kDouble);
}

}  // namespace

base::Expected<void> check_linear(const Seed& seed) {
  if (seed.kind.blueprint->algebra != Algebra::kAffine) {
    return base::failure(fmt::format("{} is not linear", name_of(seed.kind)));
  }
  switch (seed.composition) {
    case Composition::kAdd:
    case Composition::kConvex:
    case Composition::kResidual:
    case Composition::kChannel:
      return {};
    case Composition::kMultiply:
    case Composition::kGate:
    case Composition::kConfidence:
      break;
  }
  return base::failure(
      fmt::format("growth.composition {} is not linear in the feature", base::name_of(seed.composition)));
}

SlotMap slot_map(const Seed& seed) {
  ESPER_CHECK(check_linear(seed), "only a linear seed has a map");
  const at::NoGradGuard no_grad;
  const auto device = seed.scalars.alpha.device();
  const device::FullFp32 full(device);
  const auto units = at::eye(seed.shape.channels, at::TensorOptions().dtype(at::kFloat).device(device));
  const auto offset = run(seed, at::zeros_like(units.narrow(0, 0, 1))).squeeze(0);
  const auto matrix = (run(seed, units) - offset).t();
  const auto identity = units.to(at::kDouble);
  if (seed.composition == Composition::kResidual) return {identity + matrix, offset};
  if (seed.composition != Composition::kChannel) return {matrix, offset};
  const auto gate = seed.gate_weight.detach().clamp(0, 1).to(at::kDouble);
  return {identity + gate.unsqueeze(1) * (matrix - identity), gate * offset};
}

LinearLayer folded(const LinearLayer& layer, const SlotMap& map) {
  const at::NoGradGuard no_grad;
  const auto weight = layer.weight.detach().to(at::kDouble);
  const auto type = layer.weight.scalar_type();
  LinearLayer out;
  out.weight = (weight.dim() == 2 ? weight.matmul(map.matrix) : at::einsum("ochw,ci->oihw", {weight, map.matrix}))
                   .to(type)
                   .contiguous();
  if (layer.bias.defined() && weight.dim() == 2) {
    out.bias = (layer.bias.detach().to(at::kDouble) + weight.matmul(map.offset)).to(layer.bias.scalar_type());
  }
  return out;
}

std::optional<LayerMoments> folded_moments(const LayerMoments& moments, const SlotMap& map) {
  const at::NoGradGuard no_grad;
  if (map.matrix.size(0) > kMostInverted) return std::nullopt;
  const auto inverse = std::get<0>(at::linalg_inv_ex(map.matrix));
  const double enlarged = inverse.norm().item<double>() / std::sqrt(static_cast<double>(map.matrix.size(0)));
  if (!(enlarged <= kMostEnlarged)) return std::nullopt;  // also rejects NaN
  const auto times = [](const torch::Tensor& weight, const torch::Tensor& matrix) {
    return weight.dim() == 2 ? weight.matmul(matrix) : at::einsum("ochw,ci->oihw", {weight, matrix});
  };
  const auto before = moments.weight.to(at::kDouble);
  auto weight = before;
  if (moments.bias.defined() && weight.dim() == 2) {
    weight = weight - at::outer(moments.bias.to(at::kDouble), map.offset);
  }
  LayerMoments out;
  out.bias = moments.bias;
  const auto first = times(weight, inverse.t());
  out.weight = first.to(moments.weight.scalar_type()).contiguous();
  if (moments.weight_square.defined()) {
    const auto square = moments.weight_square.to(at::kDouble);
    const auto largest = (before.abs() / square.sqrt().clamp_min(kTiny)).max().clamp_min(kTiny);
    out.weight_square = at::maximum(times(square, inverse.t().square()), (first / largest).square())
                            .to(moments.weight_square.scalar_type())
                            .contiguous();
  }
  return out;
}

LayerMoments fresh_moments(const LayerMoments& moments, const SlotMap& map) {
  const at::NoGradGuard no_grad;
  LayerMoments out;
  out.bias = moments.bias;
  out.weight = at::zeros_like(moments.weight);
  if (!moments.weight_square.defined()) return out;
  const auto scale = map.matrix.square().sum().div(static_cast<double>(map.matrix.size(0)));
  const auto largest =
      moments.weight_square.to(at::kDouble).max() / scale.clamp(1 / (kMostEnlarged * kMostEnlarged), 1);
  out.weight_square = at::zeros_like(moments.weight_square).add_(largest);
  return out;
}

base::Expected<void> check_foldable(const LinearLayer& layer, const SlotMap& map) {
  if (!map.matrix.isfinite().all().item<bool>() || !map.offset.isfinite().all().item<bool>()) {
    return base::failure("its parameters hold NaN or infinity");
  }
  const bool takes_offset = layer.weight.dim() == 2 && layer.bias.defined();
  if (takes_offset || map.offset.count_nonzero().item<std::int64_t>() == 0) return {};
  return base::failure(fmt::format("its bias cannot be folded: the next layer {}",
                                   layer.bias.defined() ? "pads with zeros" : "has none"));
}

}  // namespace esper::kasmina
