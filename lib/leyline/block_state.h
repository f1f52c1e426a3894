#pragma once
// A block of the host as the policy sees it. Plain data. Any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace esper::leyline {

// The numbers are features of the policy network: they are added, never changed.
enum class BlockKind : std::uint8_t {
  kUnknown = 0,
  kDense = 1,
  kConvolution = 2,
  kTransformer = 3,
  kEmbedding = 4,
  kNorm = 5,
  kHead = 6,
};
constexpr auto names(BlockKind) {
  using K = BlockKind;
  return std::array{std::pair{K::kUnknown, "unknown"},
                    std::pair{K::kDense, "dense"},
                    std::pair{K::kConvolution, "convolution"},
                    std::pair{K::kTransformer, "transformer"},
                    std::pair{K::kEmbedding, "embedding"},
                    std::pair{K::kNorm, "norm"},
                    std::pair{K::kHead, "head"}};
}

enum class ActivationKind : std::uint8_t { kNone = 0, kRelu = 1, kGelu = 2, kTanh = 3, kSigmoid = 4 };
constexpr auto names(ActivationKind) {
  using K = ActivationKind;
  return std::array{std::pair{K::kNone, "none"}, std::pair{K::kRelu, "relu"}, std::pair{K::kGelu, "gelu"},
                    std::pair{K::kTanh, "tanh"}, std::pair{K::kSigmoid, "sigmoid"}};
}

// Empty: not known, or not measured in the last epoch.
struct BlockState {
  std::string id = {};    // "host.block0": its parameters' ids begin with it
  std::string slot = {};  // that follows it; empty where none does
  BlockKind kind = BlockKind::kUnknown;
  ActivationKind activation = ActivationKind::kNone;
  std::int64_t params = 0;                            // numbers that it learns
  std::optional<std::int64_t> activation_units = {};  // numbers at each position (sample, pixel, token) that pass it
  std::optional<double> dropout = {};                 // probability while training
  std::optional<double> latency_ms = {};              // of its forward
  std::optional<double> weight_norm = {};
  std::optional<double> gradient_norm = {};
  std::optional<double> saturation = {};     // share of its activation's units whose gradient is 0
  std::optional<double> gradient_flow = {};  // gradient norm behind its activation, over that ahead of it
};

}  // namespace esper::leyline
