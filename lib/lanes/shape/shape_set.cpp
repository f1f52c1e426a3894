#include "lanes/shape/shape_set.h"

#include <algorithm>

namespace esper::lanes {
namespace {

using Batch = std::span<const step::Microbatch>;
using Numbers = std::span<const std::int64_t>;

// Removes the tensor's number of dimensions and sizes from the front; returns false if they differ. A loop: for two or
// three numbers a call of memcmp takes longer.
bool take_sizes(Numbers& left, const torch::Tensor& tensor) {
  const at::IntArrayRef sizes = tensor.sizes();
  const std::size_t count = sizes.size();
  if (left.size() <= count || left[0] != static_cast<std::int64_t>(count)) return false;
  std::int64_t differ = 0;
  for (std::size_t i = 0; i < count; ++i) differ |= sizes[i] ^ left[i + 1];
  left = left.subspan(1 + count);
  return differ == 0;
}

}  // namespace

bool has_sizes(const StepShape& shape, Batch microbatches) {
  Numbers left = shape.sizes;
  for (const auto& microbatch : microbatches) {
    if (!take_sizes(left, microbatch.inputs) || !take_sizes(left, microbatch.targets)) return false;
  }
  return left.empty();
}

StepShape* ShapeSet::find(const std::string& name) const {
  const auto found = std::ranges::find(shapes_, name, [](const auto& shape) { return shape->name; });
  return found == shapes_.end() ? nullptr : found->get();
}

StepShape& ShapeSet::add(std::uint64_t structure, Batch microbatches) {
  auto shape = std::make_unique<StepShape>();
  shape->structure = structure;
  std::vector<std::vector<std::int64_t>> all;
  for (const auto& microbatch : microbatches) {
    for (const torch::Tensor& tensor : {microbatch.inputs, microbatch.targets}) {
      all.push_back(tensor.sizes().vec());
      shape->sizes.push_back(tensor.dim());
      shape->sizes.insert(shape->sizes.end(), tensor.sizes().begin(), tensor.sizes().end());
    }
  }
  shape->name = c10::str(all);
  shapes_.push_back(std::move(shape));
  return *shapes_.back();
}

ShapeGroup& ShapeSet::add_group(ShapeGroup group) {
  groups_.push_back(std::make_unique<ShapeGroup>(std::move(group)));
  return *groups_.back();
}

void ShapeSet::drop_leaderless_groups() {
  std::erase_if(groups_, [](const auto& group) { return group->leader == nullptr; });
}

void ShapeSet::clear() {
  shapes_.clear();
  groups_.clear();
  each_size_alone = false;
}

}  // namespace esper::lanes
