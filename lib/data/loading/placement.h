#pragma once
// The random crop and flip of one image, as a function of its place in the epoch's order.

#include "config/data_config.h"
#include "data/order/random.h"

namespace esper::data {

// Where the window of the source image lies, and which way round it is read.
struct Placement {
  std::int64_t top = 0, left = 0;  // -crop_padding to crop_padding
  bool mirrored = false;
};

constexpr std::uint64_t placement_key(std::uint64_t seed, std::int64_t epoch) {
  return key_of(seed, Stream::kAugment, static_cast<std::uint64_t>(epoch));
}

inline Placement place(const config::AugmentConfig& augment, std::uint64_t key, std::int64_t position) {
  Placement where;
  const auto counter = static_cast<std::uint64_t>(position) * 3;
  const auto choices = static_cast<std::uint32_t>(2 * augment.crop_padding + 1);
  where.top = static_cast<std::int64_t>(random_below(key, counter, choices)) - augment.crop_padding;
  where.left = static_cast<std::int64_t>(random_below(key, counter + 1, choices)) - augment.crop_padding;
  where.mirrored = augment.flip && random_below(key, counter + 2, 2) == 1;
  return where;
}

}  // namespace esper::data
