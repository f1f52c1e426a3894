#pragma once
// Gradient surgery between seeds: PCGrad (Yu et al., "Gradient Surgery for Multi-Task Learning", 2020), where each
// vector is projected against the originals of the others. Written over inner products alone, so no vector is ever
// built: a step needs one Gram matrix, whatever the number of parameters. Pure tensor functions; nothing is read by the
// host. Training thread.

#include <torch/types.h>

#include <cstdint>

namespace esper::step {

// Vector i after surgery is sum over j of coefficients[i, j] * (vector j before it).
struct Surgery {
  torch::Tensor coefficients;  // float64 [S, S]; the identity where nothing conflicts
  torch::Tensor conflicts;     // float64 [S]: with how many others the inner product was negative before
};

// gram: float64 [S, S], the inner products of S vectors. order: int64 [S, S - 1], row i names the others in the order
// in which vector i is compared with them: for each j, as long as the inner product of what vector i has become with
// vector j is negative, i <- i - (i . j) / |j|^2 * j. A vector of length zero conflicts with nothing.
Surgery project_conflicts(const torch::Tensor& gram, const torch::Tensor& order);

// A shuffled order for each step, the same whenever step and seed are. step: 0-dim int64, 0 <= step < 2^31.
torch::Tensor projection_order(const torch::Tensor& step, std::int64_t num_vectors, std::uint64_t seed);

}  // namespace esper::step
