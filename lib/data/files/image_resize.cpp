#include "data/files/image_resize.h"

#include <algorithm>
#include <cmath>

namespace esper::data {
namespace {

constexpr int kPrecision = 22;

struct Weights {
  std::int64_t first = 0;
  std::vector<std::int32_t> values;
};

std::vector<Weights> weights_of(std::int64_t in, std::int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out), support = std::max(scale, 1.0);
  std::vector<Weights> all(static_cast<std::size_t>(out));
  for (std::int64_t i = 0; i < out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(center - support + 0.5), 0);
    const auto last = std::min(static_cast<std::int64_t>(center + support + 0.5), in);
    std::vector<double> exact;
    double sum = 0;
    for (auto x = first; x < last; ++x) {
      const double distance = std::abs((static_cast<double>(x) - center + 0.5) / support);
      exact.push_back(distance < 1.0 ? 1.0 - distance : 0.0);
      sum += exact.back();
    }
    auto& weights = all[static_cast<std::size_t>(i)];
    weights.first = first;
    for (const double w : exact) weights.values.push_back(static_cast<std::int32_t>(0.5 + w / sum * (1 << kPrecision)));
  }
  return all;
}

std::uint8_t weighted(const std::uint8_t* pixel, std::int64_t stride, const Weights& weights) {
  std::int64_t sum = std::int64_t{1} << (kPrecision - 1);
  for (const auto w : weights.values) {
    sum += std::int64_t{*pixel} * w;
    pixel += stride;
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kPrecision, 0, 255));
}

Image resize_width(const Image& image, std::int64_t width) {
  const auto weights = weights_of(image.width, width);
  Image out{width, image.height, Bytes(static_cast<std::size_t>(width * image.height * 3))};
  auto* write = out.pixels.data();
  for (std::int64_t y = 0; y < image.height; ++y) {
    const auto* row = image.pixels.data() + y * image.width * 3;
    for (const auto& w : weights) {
      for (int c = 0; c < 3; ++c) *write++ = weighted(row + w.first * 3 + c, 3, w);
    }
  }
  return out;
}

Image resize_height(const Image& image, std::int64_t height) {
  const auto weights = weights_of(image.height, height);
  const auto stride = image.width * 3;
  Image out{image.width, height, Bytes(static_cast<std::size_t>(stride * height))};
  auto* write = out.pixels.data();
  for (const auto& w : weights) {
    for (std::int64_t x = 0; x < stride; ++x)
      *write++ = weighted(image.pixels.data() + w.first * stride + x, stride, w);
  }
  return out;
}

}  // namespace

Image resize_square(Image image, std::int64_t size) {
  if (image.width != size) image = resize_width(image, size);
  if (image.height != size) image = resize_height(image, size);
  return image;
}

}  // namespace esper::data
