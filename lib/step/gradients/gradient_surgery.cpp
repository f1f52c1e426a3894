#include "step/gradients/gradient_surgery.h"

#include <limits>

#include "base/error.h"

namespace esper::step {
namespace {

// All products stay below 2^63: every factor is below 2^31.
constexpr std::int64_t kModulus = std::int64_t{1} << 31;
constexpr std::int64_t kMultiplier = 1103515245, kIncrement = 12345, kSpread = 0x5bd1e995 % kModulus;

torch::Tensor mixed(const torch::Tensor& x) { return (x * kMultiplier + kIncrement).remainder(kModulus); }

// Takes the high bits, since the low ones of a product modulo a power of two are no better than the factors'.
torch::Tensor folded(const torch::Tensor& x) { return x.bitwise_xor(at::floor_divide(x, 1 << 15)); }

}  // namespace

Surgery project_conflicts(const torch::Tensor& gram, const torch::Tensor& order) {
  const std::int64_t size = gram.size(0);
  ESPER_CHECK(gram.dim() == 2 && gram.size(1) == size && order.size(0) == size && order.size(1) == size - 1,
              "a Gram matrix and an order of as many vectors");
  const torch::Tensor squares = gram.diagonal();
  const torch::Tensor off_diagonal = at::ones_like(gram).sub(at::eye(size, gram.options()));
  Surgery surgery{at::eye(size, gram.options()), gram.lt(0).to(gram.scalar_type()).mul(off_diagonal).sum(1)};
  for (std::int64_t round = 0; round < size - 1; ++round) {
    const torch::Tensor other = order.narrow(1, round, 1);
    const torch::Tensor product = at::mm(surgery.coefficients, gram).gather(1, other);
    const torch::Tensor square = squares.unsqueeze(1).gather(0, other);
    const torch::Tensor factor = at::where(product.lt(0).logical_and(square.gt(0)), product.div(square), 0.0);
    surgery.coefficients = surgery.coefficients.scatter_add(1, other, factor.neg());
  }
  return surgery;
}

torch::Tensor projection_order(const torch::Tensor& step, std::int64_t num_vectors, std::uint64_t seed) {
  const auto options = torch::dtype(torch::kInt64).device(step.device());
  const auto start = static_cast<std::int64_t>((seed ^ (seed >> 31)) % kModulus);
  const torch::Tensor places = at::arange(num_vectors * num_vectors, options).view({num_vectors, num_vectors});
  const torch::Tensor of_step = folded(mixed(mixed(step.remainder(kModulus)).add(start).remainder(kModulus)));
  const torch::Tensor keys = folded(
      mixed(folded(mixed(places.mul(kSpread).add(of_step).remainder(kModulus)))).add(of_step).remainder(kModulus));
  // Its own place comes last and is cut off.
  const torch::Tensor own = at::eye(num_vectors, options).mul(std::numeric_limits<std::int64_t>::max() / 2);
  return keys.add(own).argsort(/*stable=*/true, 1, /*descending=*/false).narrow(1, 0, num_vectors - 1);
}

}  // namespace esper::step
