#include "data/loading/resident_loader.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_select.h>

#include <cstring>
#include <numeric>

#include "base/error.h"
#include "data/files/memory_need.h"
#include "data/loading/placement.h"
#include "data/loading/transform.h"

namespace esper::data {
namespace {

bool is_text(const Dataset& dataset) { return dataset.shape.kind == leyline::SampleKind::kTokens; }

bool is_augmented(const config::AugmentConfig& augment) { return augment.crop_padding > 0 || augment.flip; }

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

std::int64_t resident_bytes(const Dataset& dataset, const config::AugmentConfig& augment) {
  constexpr std::int64_t kFloat = sizeof(float), kIndex = sizeof(std::int64_t);
  if (is_text(dataset)) return dataset.inputs.numel() * kIndex;
  const auto sizes = dataset.shape.sizes();
  std::int64_t elements = sizes[0];
  for (std::size_t i = 1; i < sizes.size(); ++i) elements *= sizes[i] + 2 * augment.crop_padding;
  return num_samples(dataset) * elements * kFloat + static_cast<std::int64_t>(dataset.targets.nbytes());
}

// The rows to pick, or the pixels: `chosen` holds for each image its number, its source rows and its source columns. On
// the CPU host and chosen are the same memory.
struct ResidentLoader::Shape {
  std::int64_t size = 0;
  torch::Tensor host, chosen;                           // int64 [size * (1 + height + width)], or [size]
  c10::List<std::optional<torch::Tensor>> coordinates;  // of pixels: parts of `chosen`, to be broadcast
  std::vector<Pair> pairs;                              // handed out, and used again when they come free
};

ResidentLoader::ResidentLoader(const Dataset& dataset, const Standardization& standardization,
                               const LoaderConfig& config)
    : config_(config),
      total_(num_samples(dataset)),
      num_batches_(batches_of(samples_per_epoch(total_, config.epoch_samples), config.batch_size)),
      augmented_(is_augmented(config.augment)) {
  if (is_text(dataset)) {
    Transform(dataset, standardization, config.augment);  // refuses an augmentation of text
    keep_windows(dataset);
  } else {
    keep_samples(dataset, standardization);
  }
  sample_sizes_ = dataset.shape.sizes();
  if (is_text(dataset)) target_sizes_ = sample_sizes_;
  const std::int64_t of_epoch = samples_per_epoch(total_, config.epoch_samples);
  whole_ = make_shape(std::min(config.batch_size, of_epoch));
  last_ = make_shape(of_epoch - (num_batches_ - 1) * config.batch_size);
}
ResidentLoader::~ResidentLoader() = default;

void ResidentLoader::keep_samples(const Dataset& dataset, const Standardization& standardization) {
  const Transform checked(dataset, standardization, config_.augment);
  const Transform transform(dataset, standardization, {});
  auto sizes = checked.input_sizes(total_);
  const std::int64_t frame = config_.augment.crop_padding;
  for (std::size_t i = 2; i < sizes.size(); ++i) sizes[i] += 2 * frame;
  if (config_.device.is_cpu()) {
    require_memory("data.gpu_dataset", "the standardised data set", resident_bytes(dataset, config_.augment), {},
                   "set data.gpu_dataset: off");
  }
  inputs_ = at::empty(sizes, torch::dtype(torch::kFloat32).device(config_.device));
  targets_ = at::empty(transform.target_sizes(total_), torch::dtype(transform.target_type()).device(config_.device));
  target_sizes_.assign(targets_.sizes().begin() + 1, targets_.sizes().end());
  for (std::int64_t c = 0; frame > 0 && c < sizes[1]; ++c) inputs_.select(1, c).fill_(transform.padding_of(c));
  constexpr std::int64_t kChunk = 1024;  // samples at a time, so that the host needs no second copy of the set
  for (std::int64_t first = 0; first < total_; first += kChunk) {
    const auto count = std::min(kChunk, total_ - first);
    std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
    std::iota(samples.begin(), samples.end(), first);
    auto inputs = at::empty(transform.input_sizes(count), torch::kFloat32);
    auto targets = at::empty(transform.target_sizes(count), transform.target_type());
    transform.fill(samples, {}, inputs, targets);
    auto place = inputs_.narrow(0, first, count);
    for (std::int64_t d = 2; d < place.dim(); ++d) place = place.narrow(d, frame, inputs.size(d));
    place.copy_(inputs);
    targets_.narrow(0, first, count).copy_(targets);
  }
}

void ResidentLoader::keep_windows(const Dataset& dataset) {
  const auto length = dataset.shape.sizes()[0], tokens = dataset.inputs.size(0);
  if (config_.device.is_cpu() && dataset.inputs.scalar_type() != torch::kInt64) {
    require_memory("data.gpu_dataset", "the tokens as 64-bit numbers", resident_bytes(dataset, {}), {},
                   "set data.gpu_dataset: off");
  }
  const auto text = dataset.inputs.to(config_.device).to(torch::kInt64);
  inputs_ = text.as_strided({tokens - length, length}, {1, 1}, 0);
  targets_ = text.as_strided({tokens - length, length}, {1, 1}, 1);
  const auto* starts = dataset.windows.const_data_ptr<std::int64_t>();
  starts_.assign(starts, starts + total_);
}

std::unique_ptr<ResidentLoader::Shape> ResidentLoader::make_shape(std::int64_t size) const {
  auto shape = std::make_unique<Shape>();
  shape->size = size;
  if (!augmented_) {
    shape->chosen = indices(size, config_.device);
  } else {
    const auto channels = sample_sizes_[0], height = sample_sizes_[1], width = sample_sizes_[2];
    shape->chosen = indices(size * (1 + height + width), config_.device);
    auto parts = shape->chosen.split_with_sizes({size, size * height, size * width});
    shape->coordinates.push_back(parts[0].view({size, 1, 1, 1}));
    shape->coordinates.push_back(at::arange(channels, parts[0].options()).view({1, channels, 1, 1}));
    shape->coordinates.push_back(parts[1].view({size, 1, height, 1}));
    shape->coordinates.push_back(parts[2].view({size, 1, 1, width}));
  }
  if (config_.device.is_cpu()) shape->host = shape->chosen;
  return shape;
}

void ResidentLoader::seek(std::int64_t epoch, std::int64_t batch) {
  ESPER_CHECK(epoch >= 0 && batch >= 0 && batch <= num_batches_, "seek outside the epoch");
  epoch_ = epoch;
  batch_ = batch;
}

std::optional<Batch> ResidentLoader::next() {
  if (batch_ == num_batches_) {
    ++epoch_;
    batch_ = 0;
    return std::nullopt;
  }
  if (order_epoch_ != epoch_) {
    order_ = Permutation::of_epoch(total_, config_.seed, epoch_);
    order_epoch_ = epoch_;
  }
  Shape& shape = batch_ + 1 == num_batches_ ? *last_ : *whole_;
  // Page-locked memory of a card comes from torch's allocator, which gives it to nobody else before the copy is done.
  const bool on_card = !config_.device.is_cpu();
  if (on_card) shape.host = pinned_.empty(shape.chosen.sizes(), torch::kInt64);
  choose_rows(shape);
  if (augmented_) choose_windows(shape);
  const at::AutoDispatchBelowADInplaceOrView below;
  if (on_card) shape.chosen.copy_(shape.host, /*non_blocking=*/true);
  Pair out = free_pair(shape);
  pick(shape, out);
  return Batch{std::move(out.inputs), std::move(out.targets), epoch_, batch_++, shape.size};
}

void ResidentLoader::choose_rows(Shape& shape) {
  auto* chosen = shape.host.data_ptr<std::int64_t>();
  const auto first = batch_ * config_.batch_size, rows = inputs_.size(0);
  const std::span out(chosen, static_cast<std::size_t>(shape.size));
  if (config_.order == Order::kShuffled) {
    order_->fill(first, out);
  } else {
    std::iota(out.begin(), out.end(), first);
  }
  for (std::int64_t& row : out) {
    if (!starts_.empty()) row = starts_[static_cast<std::size_t>(row)];
    ESPER_CHECK(row >= 0 && row < rows, "a sample index outside the data set");
  }
}

// The source row and column of every pixel row and column of the batch, in the framed image.
void ResidentLoader::choose_windows(Shape& shape) {
  const auto key = placement_key(config_.seed, epoch_);
  const std::int64_t frame = config_.augment.crop_padding, height = sample_sizes_[1], width = sample_sizes_[2];
  auto* rows = shape.host.data_ptr<std::int64_t>() + shape.size;
  auto* columns = rows + shape.size * height;
  for (std::int64_t i = 0; i < shape.size; ++i) {
    const Placement where = data::place(config_.augment, key, batch_ * config_.batch_size + i);
    for (std::int64_t y = 0; y < height; ++y) *rows++ = y + where.top + frame;
    for (std::int64_t x = 0; x < width; ++x) *columns++ = (where.mirrored ? width - 1 - x : x) + where.left + frame;
  }
}

ResidentLoader::Pair ResidentLoader::free_pair(Shape& shape) const {
  for (const Pair& pair : shape.pairs) {
    if (is_free(pair.inputs) && is_free(pair.targets)) return pair;
  }
  auto sizes = sample_sizes_, target_sizes = target_sizes_;
  sizes.insert(sizes.begin(), shape.size);
  target_sizes.insert(target_sizes.begin(), shape.size);
  Pair pair{at::empty(sizes, inputs_.options()), at::empty(target_sizes, targets_.options())};
  constexpr std::size_t kMostKept = 16;  // a caller that keeps every batch gets each in memory of its own
  if (shape.pairs.size() < kMostKept) shape.pairs.push_back(pair);
  return pair;
}

void ResidentLoader::pick(Shape& shape, Pair& out) const {
  if (augmented_) {
    at::index_out(out.inputs, inputs_, shape.coordinates);
    at::index_select_out(out.targets, targets_, 0, shape.chosen.narrow(0, 0, shape.size));
  } else if (config_.device.is_cpu()) {
    copy_rows(inputs_, shape.chosen, out.inputs);
    copy_rows(targets_, shape.chosen, out.targets);
  } else {
    at::index_select_out(out.inputs, inputs_, 0, shape.chosen);
    at::index_select_out(out.targets, targets_, 0, shape.chosen);
  }
}

}  // namespace esper::data
