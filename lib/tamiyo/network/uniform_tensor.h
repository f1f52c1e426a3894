#pragma once
// Numbers that depend on a seed and a name alone: the same on every machine, and in scripts/record_tamiyo_parity.py.
// Any thread.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace esper::tamiyo {

// Uniform in [-bound, bound). Element i: the upper 24 bits of mix64(derive_seed(seed, name) ^ mix64(i)), as a number in
// [-1, 1), times the bound.
at::Tensor uniform_tensor(std::uint64_t seed, std::string_view name, const std::vector<std::int64_t>& shape,
                          float bound);

}  // namespace esper::tamiyo
