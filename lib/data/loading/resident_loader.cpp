#include "data/loading/resident_loader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "data/loading/placement.h"

namespace esper::data {
namespace {

bool is_augmented(const config::AugmentConfig& augment) { return augment.crop_padding > 0 || augment.flip; }

BatchPicker::By picked_by(const config::AugmentConfig& augment) {
  return is_augmented(augment) ? BatchPicker::By::kPixel : BatchPicker::By::kSample;
}

}  // namespace

ResidentLoader::ResidentLoader(const Dataset& dataset, const Standardization& standardization,
                               const LoaderConfig& config)
    : config_(config),
      total_(num_samples(dataset)),
      num_batches_(batches_of(samples_per_epoch(total_, config.epoch_samples), config.batch_size)),
      samples_(resident_samples(dataset, standardization, config)),
      whole_(samples_, picked_by(config.augment),
             std::min(config.batch_size, samples_per_epoch(total_, config.epoch_samples))),
      last_(samples_, picked_by(config.augment),
            samples_per_epoch(total_, config.epoch_samples) - (num_batches_ - 1) * config.batch_size) {}

void ResidentLoader::seek(std::int64_t epoch, std::int64_t batch) {
  ESPER_CHECK(epoch >= 0 && batch >= 0 && batch <= num_batches_, "seek outside the epoch");
  place_ = {epoch, batch};
}

std::optional<Batch> ResidentLoader::next() {
  if (place_.batch == num_batches_) {
    place_ = {place_.epoch + 1, 0};
    return std::nullopt;
  }
  BatchPicker& picker = place_.batch + 1 == num_batches_ ? last_ : whole_;
  const BatchPicker::Choice choice = picker.begin(pinned_);
  choose_samples(choice.samples);
  if (is_augmented(config_.augment)) choose_windows(choice);
  auto [inputs, targets] = picker.pick();
  return Batch{std::move(inputs), std::move(targets), place_.epoch, place_.batch++, picker.size()};
}

void ResidentLoader::choose_samples(std::span<std::int64_t> out) {
  const auto first = place_.batch * config_.batch_size, rows = samples_.inputs.size(0);
  if (config_.order == Order::kShuffled) {
    if (order_epoch_ != place_.epoch) order_ = Permutation::of_epoch(total_, config_.seed, place_.epoch);
    order_epoch_ = place_.epoch;
    order_->fill(first, out);
  } else {
    std::iota(out.begin(), out.end(), first);
  }
  for (std::int64_t& row : out) {
    if (!samples_.starts.empty()) row = samples_.starts[static_cast<std::size_t>(row)];
    ESPER_CHECK(row >= 0 && row < rows, "a sample index outside the data set");
  }
}

void ResidentLoader::choose_windows(const BatchPicker::Choice& out) const {
  const auto key = placement_key(config_.seed, place_.epoch);
  const std::int64_t frame = config_.augment.crop_padding;
  const std::int64_t height = samples_.sample_sizes[1], width = samples_.sample_sizes[2];
  const std::int64_t first = place_.batch * config_.batch_size, end = first + std::ssize(out.samples);
  auto* row = out.rows.data();
  auto* column = out.columns.data();
  for (std::int64_t i = first; i < end; ++i) {
    const Placement where = data::place(config_.augment, key, i);
    for (std::int64_t y = 0; y < height; ++y) *row++ = y + where.top + frame;
    for (std::int64_t x = 0; x < width; ++x) *column++ = (where.mirrored ? width - 1 - x : x) + where.left + frame;
  }
}

}  // namespace esper::data
