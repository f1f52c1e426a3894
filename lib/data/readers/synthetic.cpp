#include "data/readers/synthetic.h"

#include <fmt/core.h>

#include "data/files/input_error.h"
#include "data/files/memory_need.h"
#include "data/order/random.h"

namespace esper::data {

namespace {

void require_room(const config::SyntheticConfig& config, const ReadOptions& options) {
  const auto numbers = checked_product({config.features, sizeof(float)});
  const auto total =
      numbers ? checked_product({config.samples, *numbers + std::int64_t{sizeof(std::int64_t)}}) : std::nullopt;
  const auto what = fmt::format("{} samples of {} numbers and a label", config.samples, config.features);
  if (!total) fail_config("synthetic", what + " need more bytes than fit into 64 bits");
  require_memory("data.synthetic", what, *total, options, "lower data.synthetic.samples or data.synthetic.features");
}

}  // namespace

RawSamples make_synthetic(const config::SyntheticConfig& config, std::uint64_t seed, const ReadOptions& options) {
  require_room(config, options);
  const auto centres = key_of(seed, Stream::kCentres), noise = key_of(seed, Stream::kNoise);
  RawSamples samples;
  samples.sizes = {config.features};
  samples.labels.reserve(static_cast<std::size_t>(config.samples));
  std::vector<float> values(static_cast<std::size_t>(config.samples * config.features));
  for (std::int64_t i = 0; i < config.samples; ++i) {
    const std::int64_t label = i % config.classes;
    samples.labels.push_back(label);
    for (std::int64_t f = 0; f < config.features; ++f) {
      const auto centre = random_normal(centres, static_cast<std::uint64_t>(label * config.features + f));
      const auto at = static_cast<std::uint64_t>(i * config.features + f);
      // Rounded to float before the sum: a fused multiply-add could not change the result then.
      const auto shift = static_cast<float>(config.noise * random_normal(noise, at));
      values[at] = static_cast<float>(centre) + shift;
    }
  }
  for (std::int64_t c = 0; c < config.classes; ++c) samples.class_names.push_back(std::to_string(c));
  samples.values = std::move(values);
  return samples;
}

}  // namespace esper::data
