#include "data/loading/transform.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/files/input_error.h"
#include "data/loading/placement.h"

namespace esper::data {
namespace {

float as_input(std::uint8_t pixel) { return static_cast<float>(pixel) / 255.f; }
float as_input(float value) { return value; }

// One row of the output: `value(x)` gives source column x, `padding` stands left and right of the image.
template <class Value>
void write_row(float* out, std::int64_t width, const Placement& where, float padding, Value value) {
  if (where.left == 0 && !where.mirrored) {
    for (std::int64_t x = 0; x < width; ++x) out[x] = value(x);
    return;
  }
  for (std::int64_t x = 0; x < width; ++x) {
    const auto source = (where.mirrored ? width - 1 - x : x) + where.left;
    out[x] = source >= 0 && source < width ? value(source) : padding;
  }
}

void check_layout(const Dataset& set) {
  for (const auto* tensor : {&set.inputs, &set.targets, &set.windows}) {
    ESPER_CHECK(!tensor->defined() || (tensor->is_contiguous() && tensor->device().is_cpu()),
                "a data set lies contiguous on the CPU");
  }
}

}  // namespace

Transform::Transform(const Dataset& dataset, const Standardization& standardization,
                     const config::AugmentConfig& augment)
    : dataset_(dataset), augment_(augment), mean_(standardization.mean), deviation_(standardization.deviation) {
  check_layout(dataset);
  const auto kind = dataset.shape.kind;
  const bool moves = augment.crop_padding > 0 || augment.flip;
  if (moves && kind != leyline::SampleKind::kImage) {
    fail_config("augment", "crop and flip need images; give data.shape = [channels, height, width] or turn them off");
  }
  if (moves && dataset.targets.dim() == 3) {
    fail_config("augment", "crop and flip would not move the classes of the pixels with them; turn them off");
  }
  if (kind == leyline::SampleKind::kTokens) return;
  const auto groups = static_cast<std::size_t>(dataset.shape.sizes()[0]);
  if (mean_.empty()) mean_.assign(groups, 0.f);
  if (deviation_.empty()) deviation_.assign(groups, 1.f);
  ESPER_CHECK(mean_.size() == groups && deviation_.size() == groups, "standardisation of another data set");
  // New samples have no numbers as targets.
  if (!standardization.target_mean.empty() && dataset.targets.scalar_type() == torch::kFloat32) {
    target_mean_ = standardization.target_mean;
    target_deviation_ = standardization.target_deviation;
    ESPER_CHECK(std::ssize(target_mean_) == dataset.targets.size(1) && target_deviation_.size() == target_mean_.size(),
                "standardisation of other targets");
  }
  if (kind == leyline::SampleKind::kImage && dataset.inputs.scalar_type() == torch::kUInt8) {
    for (std::size_t c = 0; c < groups; ++c) {
      for (int pixel = 0; pixel < 256; ++pixel) {
        pixel_values_.push_back((as_input(static_cast<std::uint8_t>(pixel)) - mean_[c]) / deviation_[c]);
      }
    }
  }
}

std::vector<std::int64_t> Transform::input_sizes(std::int64_t count) const {
  auto sizes = dataset_.shape.sizes();
  sizes.insert(sizes.begin(), count);
  return sizes;
}

std::vector<std::int64_t> Transform::target_sizes(std::int64_t count) const {
  if (dataset_.shape.kind == leyline::SampleKind::kTokens) return input_sizes(count);
  auto sizes = dataset_.targets.sizes().vec();
  sizes[0] = count;
  return sizes;
}

torch::ScalarType Transform::input_type() const {
  return dataset_.shape.kind == leyline::SampleKind::kTokens ? torch::kInt64 : torch::kFloat32;
}

torch::ScalarType Transform::target_type() const {
  return dataset_.shape.kind == leyline::SampleKind::kTokens ? torch::kInt64 : dataset_.targets.scalar_type();
}

void Transform::fill(std::span<const std::int64_t> samples, const AugmentDraw& draw, torch::Tensor& inputs,
                     torch::Tensor& targets) const {
  if (dataset_.shape.kind == leyline::SampleKind::kTokens) {
    auto *to = inputs.data_ptr<std::int64_t>(), *later = targets.data_ptr<std::int64_t>();
    const auto type = dataset_.inputs.scalar_type();
    if (type == torch::kUInt16) return fill_windows<std::uint16_t>(samples, to, later);
    return type == torch::kInt32 ? fill_windows<std::int32_t>(samples, to, later)
                                 : fill_windows<std::int64_t>(samples, to, later);
  }
  fill_targets(samples, targets);
  auto* out = inputs.data_ptr<float>();
  const bool pixels = dataset_.inputs.scalar_type() == torch::kUInt8;
  if (dataset_.shape.kind == leyline::SampleKind::kFeatures) {
    return pixels ? fill_features<std::uint8_t>(samples, out) : fill_features<float>(samples, out);
  }
  return pixels ? fill_images<std::uint8_t>(samples, draw, out) : fill_images<float>(samples, draw, out);
}

void Transform::fill_targets(std::span<const std::int64_t> samples, torch::Tensor& targets) const {
  ESPER_CHECK(targets.scalar_type() == target_type(), "targets of another type");
  const auto bytes = dataset_.targets.nbytes() / static_cast<std::size_t>(dataset_.targets.size(0));
  const auto* all = static_cast<const std::byte*>(dataset_.targets.const_data_ptr());
  auto* out = static_cast<std::byte*>(targets.mutable_data_ptr());
  for (const auto sample : samples) {
    ESPER_CHECK(sample >= 0 && sample < dataset_.inputs.size(0), "a sample index outside the data set");
    std::memcpy(out, all + static_cast<std::size_t>(sample) * bytes, bytes);
    out += bytes;
  }
  if (!target_mean_.empty()) standardise_targets(targets.data_ptr<float>(), std::ssize(samples));
}

void Transform::standardise_targets(float* values, std::int64_t count) const {
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < target_mean_.size(); ++k, ++values) {
      *values = (*values - target_mean_[k]) / target_deviation_[k];
    }
  }
}

template <class T>
void Transform::fill_features(std::span<const std::int64_t> samples, float* out) const {
  const auto width = dataset_.shape.sizes()[0];
  const T* all = dataset_.inputs.const_data_ptr<T>();
  for (const auto sample : samples) {
    const T* row = all + sample * width;
    for (std::int64_t f = 0; f < width; ++f) out[f] = (as_input(row[f]) - mean_[f]) / deviation_[f];
    out += width;
  }
}

template <class T>
void Transform::fill_images(std::span<const std::int64_t> samples, const AugmentDraw& draw, float* out) const {
  const auto channels = dataset_.shape.sizes()[0], height = dataset_.shape.sizes()[1],
             width = dataset_.shape.sizes()[2];
  const auto key = placement_key(draw.seed, draw.epoch);
  auto position = draw.first_position;
  for (const auto sample : samples) {
    const auto where = place(augment_, key, position++);
    const T* plane = dataset_.inputs.const_data_ptr<T>() + sample * channels * height * width;
    for (std::int64_t c = 0; c < channels; ++c, plane += height * width) {
      const float mean = mean_[c], deviation = deviation_[c], padding = padding_of(c);
      for (std::int64_t y = 0; y < height; ++y, out += width) {
        const auto source = y + where.top;
        if (source < 0 || source >= height) {
          std::fill_n(out, width, padding);
          continue;
        }
        const T* row = plane + source * width;
        if constexpr (std::is_same_v<T, std::uint8_t>) {
          const float* values = pixel_values_.data() + c * 256;
          write_row(out, width, where, padding, [&](std::int64_t x) { return values[row[x]]; });
        } else {
          write_row(out, width, where, padding, [&](std::int64_t x) { return (row[x] - mean) / deviation; });
        }
      }
    }
  }
}

template <class Token>
void Transform::fill_windows(std::span<const std::int64_t> samples, std::int64_t* inputs, std::int64_t* targets) const {
  const auto length = dataset_.shape.sizes()[0], tokens = dataset_.inputs.size(0);
  const auto* text = dataset_.inputs.const_data_ptr<Token>();
  const auto* starts = dataset_.windows.const_data_ptr<std::int64_t>();
  for (const auto sample : samples) {
    ESPER_CHECK(sample >= 0 && sample < dataset_.windows.size(0), "a sample index outside the data set");
    const auto start = starts[sample];
    ESPER_CHECK(start >= 0 && start < tokens - length, "a window outside the text");
    inputs = std::copy_n(text + start, length, inputs);
    targets = std::copy_n(text + start + 1, length, targets);
  }
}

}  // namespace esper::data
