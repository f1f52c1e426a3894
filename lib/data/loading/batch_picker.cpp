#include "data/loading/batch_picker.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_select.h>

#include <cstring>
#include <utility>

namespace esper::data {
namespace {

// Nobody else holds the tensor, or a view of it.
bool is_free(const torch::Tensor& tensor) { return tensor.use_count() == 1 && tensor.storage().use_count() == 1; }

// What index_select does, without the microsecond that an operator costs: a tiny step would feel it.
void copy_rows(const torch::Tensor& all, const torch::Tensor& rows, torch::Tensor& out) {
  const auto stride = static_cast<std::size_t>(all.stride(0)) * all.element_size();
  const auto count = rows.numel();
  const std::size_t bytes = out.nbytes() / static_cast<std::size_t>(count);
  const auto* from = static_cast<const std::byte*>(all.const_data_ptr());
  auto* to = static_cast<std::byte*>(out.mutable_data_ptr());
  const auto* row = rows.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i, to += bytes)
    std::memcpy(to, from + static_cast<std::size_t>(row[i]) * stride, bytes);
}

torch::Tensor indices(std::int64_t count, torch::Device device) {
  return at::empty({count}, torch::dtype(torch::kInt64).device(device));
}

}  // namespace

BatchPicker::BatchPicker(const ResidentSamples& samples, By by, std::int64_t size)
    : samples_(samples), by_(by), size_(size) {
  const torch::Device device = samples.inputs.device();
  if (by == By::kSample) {
    chosen_ = indices(size, device);
  } else {
    const auto channels = samples.sample_sizes[0], height = samples.sample_sizes[1], width = samples.sample_sizes[2];
    chosen_ = indices(size * (1 + height + width), device);
    auto parts = chosen_.split_with_sizes({size, size * height, size * width});
    coordinates_.push_back(parts[0].view({size, 1, 1, 1}));
    coordinates_.push_back(at::arange(channels, parts[0].options()).view({1, channels, 1, 1}));
    coordinates_.push_back(parts[1].view({size, 1, height, 1}));
    coordinates_.push_back(parts[2].view({size, 1, 1, width}));
  }
  if (device.is_cpu()) host_ = chosen_;
}

// Page-locked memory of a GPU comes from torch's allocator, which gives it to nobody else before the copy is done.
BatchPicker::Choice BatchPicker::begin(device::PinnedMemory& pinned) {
  if (!chosen_.is_cpu()) host_ = pinned.empty(chosen_.sizes(), torch::kInt64);
  const std::span all(host_.data_ptr<std::int64_t>(), static_cast<std::size_t>(host_.numel()));
  const auto size = static_cast<std::size_t>(size_);
  if (by_ == By::kSample) return {all, {}, {}};
  const auto height = static_cast<std::size_t>(samples_.sample_sizes[1]);
  return {all.first(size), all.subspan(size, size * height), all.subspan(size * (1 + height))};
}

BatchPicker::Pair BatchPicker::pick() {
  const at::AutoDispatchBelowADInplaceOrView below;
  const torch::Tensor &inputs = samples_.inputs, &targets = samples_.targets;
  if (!chosen_.is_cpu()) chosen_.copy_(host_, /*non_blocking=*/true);
  Pair out = free_pair();
  if (by_ == By::kPixel) {
    at::index_out(out.inputs, inputs, coordinates_);
    at::index_select_out(out.targets, targets, 0, chosen_.narrow(0, 0, size_));
  } else if (chosen_.is_cpu()) {
    copy_rows(inputs, chosen_, out.inputs);
    copy_rows(targets, chosen_, out.targets);
  } else {
    at::index_select_out(out.inputs, inputs, 0, chosen_);
    at::index_select_out(out.targets, targets, 0, chosen_);
  }
  return out;
}

BatchPicker::Pair BatchPicker::free_pair() {
  for (const Pair& pair : pairs_) {
    if (is_free(pair.inputs) && is_free(pair.targets)) return pair;
  }
  auto sizes = samples_.sample_sizes, target_sizes = samples_.target_sizes;
  sizes.insert(sizes.begin(), size_);
  target_sizes.insert(target_sizes.begin(), size_);
  Pair pair{at::empty(sizes, samples_.inputs.options()), at::empty(target_sizes, samples_.targets.options())};
  constexpr std::size_t kMostKept = 16;  // a caller that keeps every batch gets each in memory of its own
  if (pairs_.size() < kMostKept) pairs_.push_back(pair);
  return pair;
}

}  // namespace esper::data
