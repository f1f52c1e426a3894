#include "program/check.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

namespace esper::program {
namespace {

constexpr double kWholeNumberTolerance = 0.02;

double length_of(const at::Tensor& tensor) { return at::linalg_vector_norm(tensor).item<double>(); }

double distance(const at::Tensor& a, const at::Tensor& b) {
  return length_of(a.to(torch::kFloat64).sub_(b.to(torch::kFloat64)));
}

// What rounding alone does to a value, relative to its size: a few units in the last place.
double rounding_of(c10::ScalarType type) {
  constexpr double kUnits = 4;
  if (type == torch::kFloat64) return kUnits * std::numeric_limits<double>::epsilon();
  return c10::isFloatingType(type) ? kUnits * std::numeric_limits<float>::epsilon() : 0;
}

// Of three float64 tensors; infinite where one of them is not finite.
double relative_difference(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual,
                           double rounding) {
  const at::Tensor change = expected.sub(before);
  const double difference = length_of(actual.sub(before).sub_(change));
  if (difference == 0) return 0;
  const double scale = length_of(change) + std::numeric_limits<double>::min();
  if (!std::isfinite(difference) || !std::isfinite(scale)) return std::numeric_limits<double>::infinity();
  return std::max(0.0, difference - rounding * length_of(before)) / scale;
}

// Elements that are not finite have no distance: they have to be at the same places, and the others are compared. So
// a sum that overflowed in an earlier step of the epoch hides no difference and makes none. Which of infinity and NaN
// an element is depends on the order of a sum, and does not count.
double relative_difference_where_finite(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual,
                                        double rounding) {
  const at::Tensor finite = expected.isfinite();
  if (!at::equal(finite, actual.isfinite())) return std::numeric_limits<double>::infinity();
  const at::Tensor none = at::zeros({}, before.options());
  return relative_difference(at::where(finite.logical_and(before.isfinite()), before, none),
                             at::where(finite, expected, none), at::where(finite, actual, none), rounding);
}

double relative_difference(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual) {
  const double rounding = rounding_of(before.scalar_type());
  const at::Tensor from = before.to(torch::kFloat64), a = expected.to(torch::kFloat64), b = actual.to(torch::kFloat64);
  const double difference = relative_difference(from, a, b, rounding);
  return std::isfinite(difference) ? difference : relative_difference_where_finite(from, a, b, rounding);
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
    if (!expected[i].is_floating_point() && distance(expected[i], actual[i]) <= tolerance.ties) continue;
    const double difference = relative_difference(before[i], expected[i], actual[i]);
    if (difference <= limit) continue;
    return Difference{tracked[i].name, difference, limit};
  }
  return std::nullopt;
}

}  // namespace esper::program
