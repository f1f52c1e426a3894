#include "tamiyo/network/bf16_products.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "device/facts.h"
#include "device/precision.h"

namespace esper::tamiyo {
namespace {

// oneDNN's products with packed weights are operators without a function in ATen's headers.
template <class Signature>
c10::TypedOperatorHandle<Signature> onednn(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

using Pack = at::Tensor(const at::Tensor&, std::optional<std::int64_t>);
using Product = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                           c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);

}  // namespace

bool has_bf16_products(c10::Device device) {
  if (device.is_cpu()) {
    // oneDNN takes bf16 on older processors too, and is slow there.
    const auto sets = device::host_facts().instruction_sets;
    const bool is_fast =
        std::ranges::find(sets, "avx512_bf16") != sets.end() || std::ranges::find(sets, "amx_bf16") != sets.end();
    return is_fast && at::globalContext().hasMKLDNN();
  }
  return device::resolve_precision(config::Precision::kAuto, device) == c10::ScalarType::BFloat16;
}

FoldedWeights in_bf16(FoldedWeights weights) {
  ESPER_CHECK(has_bf16_products(weights.device()), "the device has bf16 products");
  if (!weights.device().is_cpu()) {
    weights.autocast = at::kBFloat16;
    return weights;
  }
  const at::NoGradGuard no_grad;
  const auto pack = onednn<Pack>("mkldnn::_reorder_linear_weight");
  for (FoldedLayer& layer : weights.layers) {
    for (FoldedTarget& target : layer.targets) {
      target.packed = pack.call(target.weight.t().contiguous().to(at::kBFloat16), std::nullopt);
      target.packed_bias = target.bias.to(at::kBFloat16);
      target.weight = at::Tensor();
    }
  }
  return weights;
}

bool is_packed(const FoldedWeights& weights) { return weights.layers[0].targets.front().packed.defined(); }

at::Tensor aggregate(const at::Tensor& matrix, const at::Tensor& x, const FoldedLayer& layer) {
  if (!layer.targets.front().packed.defined()) return at::mm(matrix, x);
  return at::mm(matrix.to(at::kBFloat16), x.to(at::kBFloat16));
}

at::Tensor product(const at::Tensor& rows, const FoldedTarget& target) {
  if (!target.packed.defined()) return at::addmm(target.bias, rows, target.weight);
  static const auto multiply = onednn<Product>("mkldnn::_linear_pointwise");
  return multiply
      .call(rows.to(at::kBFloat16), target.packed, target.packed_bias, "none", c10::List<std::optional<at::Scalar>>(),
            "")
      .to(at::kFloat);
}

}  // namespace esper::tamiyo
