#include "program/check.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

namespace esper::program {
namespace {

constexpr double kWholeNumberTolerance = 0.02;

double length_of(const at::Tensor& tensor) { return at::linalg_vector_norm(tensor).item<double>(); }

// What rounding alone may do to values of this size: a few units in the last place of each.
double rounding(const at::Tensor& before) {
  if (!before.is_floating_point()) return 0;
  constexpr double kUnits = 4;
  const double unit = before.scalar_type() == torch::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                              : std::numeric_limits<float>::epsilon();
  return kUnits * unit * length_of(before.to(torch::kFloat64));
}

double relative_difference(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual) {
  const at::Tensor start = before.to(torch::kFloat64);
  const at::Tensor change = expected.to(torch::kFloat64).sub(start);
  const double difference = length_of(actual.to(torch::kFloat64).sub(start).sub_(change));
  if (difference == 0) return 0;
  const double scale = length_of(change) + std::numeric_limits<double>::min();
  if (!std::isfinite(difference) || !std::isfinite(scale)) return std::numeric_limits<double>::infinity();
  return std::max(0.0, difference - rounding(before)) / scale;
}

bool equal_where_not_finite(const at::Tensor& a, const at::Tensor& b) {
  return at::allclose(a, b, 0, 0, /*equal_nan=*/true);
}

}  // namespace

Tolerance tolerance_of(c10::ScalarType compute_type) {
  if (compute_type == c10::ScalarType::Float) return {1e-3, 0.1};
  return {5e-2, 0.5};
}

std::optional<Difference> first_difference(const std::vector<Tracked>& tracked, const std::vector<at::Tensor>& before,
                                           const std::vector<at::Tensor>& expected,
                                           const std::vector<at::Tensor>& actual, Tolerance tolerance) {
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    const double limit = !expected[i].is_floating_point()                ? kWholeNumberTolerance
                         : tracked[i].kind == Tracked::Kind::kNormalised ? tolerance.normalised
                                                                         : tolerance.smooth;
    const double difference = relative_difference(before[i], expected[i], actual[i]);
    if (difference <= limit) continue;
    if (std::isinf(difference) && equal_where_not_finite(expected[i], actual[i])) continue;
    return Difference{tracked[i].name, difference, limit};
  }
  return std::nullopt;
}

}  // namespace esper::program
