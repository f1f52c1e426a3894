#include "program/tensor_range.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace esper::program {
namespace {

void set_extremes(TensorRange& range, const at::Tensor& values) {
  if (values.numel() == 0) return;
  const auto [min, max] = at::aminmax(values);
  range.min = min.to(at::kDouble).item<double>();
  range.max = max.to(at::kDouble).item<double>();
}

}  // namespace

TensorRange range_of(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  TensorRange range;
  range.shape = tensor.sizes().vec();
  range.dtype = c10::toString(tensor.scalar_type());
  range.elements = tensor.numel();
  if (tensor.layout() != at::kStrided || tensor.is_complex() || tensor.is_quantized()) return range;
  if (range.elements == 0 || tensor.scalar_type() == at::kBool) return range;
  // Not every reduction takes every type of few bits.
  const at::Tensor values = tensor.is_floating_point() && tensor.element_size() < 4 ? tensor.to(at::kFloat) : tensor;
  set_extremes(range, values);
  if (std::isfinite(range.min) && std::isfinite(range.max)) return range;
  range.nans = at::isnan(values).sum().item<std::int64_t>();
  range.infinities = at::isinf(values).sum().item<std::int64_t>();
  range.min = range.max = 0;
  set_extremes(range, values.masked_select(at::isfinite(values)));
  return range;
}

}  // namespace esper::program
