#include "data/standardization.h"

#include <ATen/ops/tensor.h>

#include <cmath>
#include <utility>

namespace esper::data {
namespace {

// Mean of f(x, group) over each group. Elements lie as [samples, groups, run].
template <class T, class Function>
std::vector<double> mean_over(const torch::Tensor& inputs, std::int64_t groups, Function f) {
  const auto samples = inputs.size(0), run = inputs.numel() / (samples * groups);
  const T* x = inputs.const_data_ptr<T>();
  std::vector<double> sums(static_cast<std::size_t>(groups), 0.0);
  for (std::int64_t n = 0; n < samples; ++n) {
    for (std::int64_t g = 0; g < groups; ++g) {
      double sum = 0;
      for (std::int64_t i = 0; i < run; ++i) sum += f(static_cast<double>(*x++), static_cast<std::size_t>(g));
      sums[static_cast<std::size_t>(g)] += sum;
    }
  }
  for (auto& sum : sums) sum /= static_cast<double>(samples * run);
  return sums;
}

template <class T>
Standardization measure_as(const torch::Tensor& inputs, std::int64_t groups, double unit) {
  const auto mean = mean_over<T>(inputs, groups, [](double x, std::size_t) { return x; });
  const auto variance =
      mean_over<T>(inputs, groups, [&](double x, std::size_t g) { return (x - mean[g]) * (x - mean[g]); });
  Standardization result;
  for (std::size_t g = 0; g < mean.size(); ++g) {
    const auto deviation = static_cast<float>(std::sqrt(variance[g]) / unit);
    result.mean.push_back(static_cast<float>(mean[g] / unit));
    result.deviation.push_back(deviation > 0 ? deviation : 1.f);
  }
  return result;
}

}  // namespace

Standardization measure(const torch::Tensor& inputs, const leyline::SampleShape& shape) {
  const auto groups = shape.sizes().at(0);
  return inputs.scalar_type() == torch::kUInt8 ? measure_as<std::uint8_t>(inputs, groups, 255.0)
                                               : measure_as<float>(inputs, groups, 1.0);
}

void measure_targets(const torch::Tensor& targets, Standardization& out) {
  auto measured = measure_as<float>(targets, targets.size(1), 1.0);
  out.target_mean = std::move(measured.mean);
  out.target_deviation = std::move(measured.deviation);
}

torch::Tensor in_target_units(const Standardization& standardization, const torch::Tensor& outputs) {
  if (standardization.target_mean.empty()) return outputs;
  const auto each = [&](const std::vector<float>& values) {
    return at::tensor(values).view(outputs.sizes().slice(1)).to(outputs.device());
  };
  return outputs.mul(each(standardization.target_deviation)).add_(each(standardization.target_mean));
}

}  // namespace esper::data
