#pragma once
// Widths inside blueprints' modules, C channels coming in: what is built and what is counted take them from here. Any
// thread.

#include <algorithm>
#include <array>
#include <cstdint>

namespace esper::leyline {

inline constexpr std::int64_t kLoraRank = 8;
inline constexpr std::int64_t kLoraLargeRank = 32;

// R of a gate over channels.
constexpr std::int64_t channel_gate_width(std::int64_t channels) { return std::max<std::int64_t>(1, channels / 4); }

inline constexpr std::int64_t kMinBottleneck = 8;
constexpr std::int64_t bottleneck_width(std::int64_t channels) { return std::max(kMinBottleneck, channels / 4); }

// Of flat features.
constexpr std::int64_t small_mlp_width(std::int64_t channels) { return std::max<std::int64_t>(1, channels / 2); }
constexpr std::int64_t mlp_width(std::int64_t channels) { return 2 * channels; }

// Parameters of two linear layers with biases, `width` between them.
constexpr std::int64_t two_layer_parameters(std::int64_t channels, std::int64_t width) {
  return 2 * channels * width + width + channels;
}

// Of tokens.
constexpr std::int64_t small_token_mlp_width(std::int64_t channels) { return 2 * channels; }
constexpr std::int64_t token_mlp_width(std::int64_t channels) { return 4 * channels; }

// Of the transformer host's block: attention's four projections, an MLP and two norms.
constexpr std::int64_t decoder_block_parameters(std::int64_t channels) {
  return 4 * channels * (channels + 1) + two_layer_parameters(channels, token_mlp_width(channels)) + 4 * channels;
}

// Units that a widening adds to a block: as many as it has, or half as many.
using WideningUnits = std::int64_t (*)(std::int64_t width);
constexpr std::int64_t as_many_units(std::int64_t width) { return width; }
constexpr std::int64_t half_as_many_units(std::int64_t width) { return std::max<std::int64_t>(1, width / 2); }

// 64 wide where that divides the width, else the next smaller power of two; one head where none does.
constexpr std::int64_t num_heads(std::int64_t channels) {
  for (const std::int64_t head_width : std::array<std::int64_t, 4>{64, 32, 16, 8}) {
    if (channels % head_width == 0) return channels / head_width;
  }
  return 1;
}

}  // namespace esper::leyline
