#include "tolaria/run/microbatch_parts.h"

#include <torch/types.h>

#include <algorithm>

#include "device/alignment.h"

namespace esper::tolaria {

using step::Microbatch;

namespace {

torch::Tensor aligned(const torch::Tensor& slice) {
  const torch::Tensor part = slice.contiguous();
  const auto offset = part.storage_offset() * static_cast<std::int64_t>(part.element_size());
  return offset % device::kCudaAlignment == 0 ? part : part.clone();
}

}  // namespace

std::vector<Microbatch> in_parts(const std::vector<Microbatch>& microbatches, std::int64_t parts) {
  if (parts == 1) return microbatches;
  std::vector<Microbatch> smaller;
  for (const auto& [inputs, targets, goes_on] : microbatches) {
    const auto of_inputs = inputs.tensor_split(std::min(parts, inputs.size(0)));
    const auto of_targets = targets.tensor_split(std::min(parts, inputs.size(0)));
    for (std::size_t i = 0; i < of_inputs.size(); ++i)
      smaller.push_back({aligned(of_inputs[i]), aligned(of_targets[i]), goes_on || i > 0});
  }
  return smaller;
}

}  // namespace esper::tolaria
