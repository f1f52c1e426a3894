#include "program/check.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace esper::program {
namespace {

constexpr double kWholeNumberTolerance = 0.02;

// As AdamW adds it to the root by default: so elements without a gradient are compared by their weight decay.
constexpr double kLeastDivisor = 1e-8;

double length_of(const at::Tensor& tensor) { return at::linalg_vector_norm(tensor).item<double>(); }

double distance_of_whole(const at::Tensor& a, const at::Tensor& b) {
  return length_of(a.to(torch::kFloat64).sub_(b.to(torch::kFloat64)));
}

// What rounding alone does to a value, relative to its size: a few units in the last place.
double rounding_of(c10::ScalarType type) {
  constexpr double kUnits = 4;
  if (type == torch::kFloat64) return kUnits * std::numeric_limits<double>::epsilon();
  return c10::isFloatingType(type) ? kUnits * std::numeric_limits<float>::epsilon() : 0;
}

// How far a step's change of a tensor is from eager's, without what rounding does to the values, and that change.
struct Distance {
  double difference = 0, change = 0;
  double ratio() const { return difference == 0 ? 0 : difference / (change + std::numeric_limits<double>::min()); }
};

// Of two float64 tensors.
double length_of_change(const at::Tensor& before, const at::Tensor& expected, double decay) {
  const double change = length_of(expected.sub(before));
  return decay == 1 ? change : std::max(change, length_of(expected.sub(before, decay)));
}

// Of three float64 tensors; infinite where one of them is not finite.
Distance distance(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual, double rounding,
                  double decay) {
  const double difference = length_of(actual.sub(before).sub_(expected.sub(before)));
  if (difference == 0) return {};
  const double length = length_of_change(before, expected, decay);
  if (!std::isfinite(difference) || !std::isfinite(length)) return {std::numeric_limits<double>::infinity(), 0};
  return {std::max(0.0, difference - rounding * length_of(before)), length};
}

// Elements that are not finite have no distance: they have to be at the same places, and the others are compared. So
// a sum that overflowed in an earlier step of the epoch hides no difference and makes none. Which of infinity and NaN
// an element is depends on the order of a sum, and does not count.
Distance distance_where_finite(const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual,
                               double rounding, double decay) {
  const at::Tensor finite = expected.isfinite();
  if (!at::equal(finite, actual.isfinite())) return {std::numeric_limits<double>::infinity(), 0};
  const at::Tensor none = at::zeros({}, before.options());
  return distance(at::where(finite.logical_and(before.isfinite()), before, none), at::where(finite, expected, none),
                  at::where(finite, actual, none), rounding, decay);
}

// What the tensor's update was divided by, in float64; undefined: by nothing.
at::Tensor divisor_of(const Tracked& item) {
  if (!item.squares.defined()) return {};
  return item.squares.to(torch::kFloat64, /*non_blocking=*/false, /*copy=*/true).sqrt_().add_(kLeastDivisor);
}

// In float64.
at::Tensor multiplied(const at::Tensor& values, const at::Tensor& divisor) {
  if (!divisor.defined()) return values.to(torch::kFloat64);
  return values.to(torch::kFloat64, /*non_blocking=*/false, /*copy=*/true).mul_(divisor);
}

Distance distance(const Tracked& item, const at::Tensor& before, const at::Tensor& expected, const at::Tensor& actual) {
  const at::Tensor divisor = divisor_of(item);
  const at::Tensor from = multiplied(before, divisor), a = multiplied(expected, divisor),
                   b = multiplied(actual, divisor);
  const double rounding = rounding_of(before.scalar_type());
  const Distance found = distance(from, a, b, rounding, item.decay);
  return std::isfinite(found.difference) ? found : distance_where_finite(from, a, b, rounding, item.decay);
}

// Of all tensors of a kind together.
double change_of(const std::string& kind, const std::vector<Tracked>& tracked, const std::vector<at::Tensor>& before,
                 const std::vector<at::Tensor>& expected) {
  double squares = 0;
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    if (tracked[i].kind != kind) continue;
    const at::Tensor divisor = divisor_of(tracked[i]);
    const at::Tensor from = multiplied(before[i], divisor), to = multiplied(expected[i], divisor);
    squares += std::pow(length_of_change(from, to, tracked[i].decay), 2);
  }
  return std::sqrt(squares);
}

}  // namespace

Tolerance tolerance_of(c10::ScalarType compute_type) {
  if (compute_type == c10::ScalarType::Float) return {1e-3, 1e-7};
  return {5e-2, 5e-4};
}

std::optional<Difference> first_difference(const std::vector<Tracked>& tracked, const std::vector<at::Tensor>& before,
                                           const std::vector<at::Tensor>& expected,
                                           const std::vector<at::Tensor>& actual, Tolerance tolerance) {
  std::map<std::string, double> changes;  // by kind
  const auto change_of_kind = [&](const std::string& kind) {
    if (kind.empty()) return 0.0;
    const auto [known, is_new] = changes.try_emplace(kind);
    if (is_new) known->second = change_of(kind, tracked, before, expected);
    return known->second;
  };
  for (std::size_t i = 0; i < tracked.size(); ++i) {
    const Tracked& item = tracked[i];
    const bool is_whole = !expected[i].is_floating_point();
    const double limit = is_whole ? kWholeNumberTolerance : tolerance.ratio;
    if (is_whole && distance_of_whole(expected[i], actual[i]) <= tolerance.ties) continue;
    const Distance found = distance(item, before[i], expected[i], actual[i]);
    if (found.ratio() <= limit) continue;
    const double of_kind = change_of_kind(item.kind);
    if (std::isfinite(of_kind) && found.difference <= limit * found.change + tolerance.rounding * of_kind) continue;
    return Difference{item.name, found.ratio(), limit};
  }
  return std::nullopt;
}

}  // namespace esper::program
