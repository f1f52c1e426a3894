#pragma once
// The sizes of the policy network: six encoders, two GraphSAGE layers, two GAT layers, heads. Any thread.

namespace esper::tamiyo {

inline constexpr int kSageLayers = 2;
inline constexpr int kLayers = 4;  // GraphSAGE first, then GAT
inline constexpr int kEncoderWidth = 256;
inline constexpr int kSageWidth = 256;
inline constexpr int kGatWidth = 128;
inline constexpr int kHeads = 4;
inline constexpr int kHiddenWidth = 64;  // of the heads that have two layers
inline constexpr double kNegativeSlope = 0.2;
inline constexpr double kNormEps = 1e-5;

constexpr bool is_attention(int layer) { return layer >= kSageLayers; }
constexpr int width_after(int layer) { return is_attention(layer) ? kGatWidth : kSageWidth; }
constexpr int width_before(int layer) { return layer == 0 ? kEncoderWidth : width_after(layer - 1); }

}  // namespace esper::tamiyo
