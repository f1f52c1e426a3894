#include "program/check.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

namespace esper::program {
namespace {

constexpr double kWholeNumberTolerance = 0.02;

// As AdamW adds it to the root: so elements without a gradient are compared by their weight decay.
constexpr double kLeastDivisor = 1e-8;

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

// In float64, times what the update was divided by.
at::Tensor undivided(const at::Tensor& values, const at::Tensor& squares) {
  const at::Tensor exact = values.to(torch::kFloat64);
  return squares.defined() ? exact.mul(squares.to(torch::kFloat64).sqrt().add(kLeastDivisor)) : exact;
}

double relative_difference(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual,
                           const at::Tensor& squares) {
  const double rounding = rounding_of(before.scalar_type());
  const at::Tensor from = undivided(before, squares), a = undivided(expected, squares), b = undivided(actual, squares);
  const double difference = relative_difference(from, a, b, rounding);
  return std::isfinite(difference) ? difference : relative_difference_where_finite(from, a, b, rounding);
}

}  // namespace

Tolerance tolerance_of(c10::ScalarType compute_type) {
  return {.ratio = compute_type == c10::ScalarType::Float ? 1e-3 : 5e-2};
}

std::optional<Difference> first_difference(const std::vector<Tracked>& tracked, const std::vector<at::Tensor>& before,
                                           const std::vector<at::Tensor>& expected,
                                           const std::vector<at::Tensor>& actual, Tolerance tolerance) {
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    const bool is_whole = !expected[i].is_floating_point();
    const double limit = is_whole ? kWholeNumberTolerance : tolerance.ratio;
    if (is_whole && distance(expected[i], actual[i]) <= tolerance.ties) continue;
    const double difference = relative_difference(before[i], expected[i], actual[i], tracked[i].squares);
    if (difference <= limit) continue;
    return Difference{tracked[i].name, difference, limit};
  }
  return std::nullopt;
}

}  // namespace esper::program
