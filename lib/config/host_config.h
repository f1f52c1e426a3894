#pragma once
#include <cstdint>

#include "config/entries/entry.h"
#include "config/entries/slot_module.h"
#include "config/field.h"

namespace esper::config {

enum class HostKind { kLinear, kMlp, kCnn, kTransformer, kExported };
constexpr auto names(HostKind) {
  using K = HostKind;
  return std::array{std::pair{K::kLinear, "linear"}, std::pair{K::kMlp, "mlp"}, std::pair{K::kCnn, "cnn"},
                    std::pair{K::kTransformer, "transformer"}, std::pair{K::kExported, "exported"}};
}

// The network at the start. Number of classes (or characters) and the sample's shape come from the data; an exported
// network brings its own, which the data must fit.
struct HostConfig {
  HostKind kind = HostKind::kMlp;
  std::vector<std::int64_t> hidden = {64, 64};
  std::int64_t blocks = 3;
  std::int64_t base_channels = 8;
  std::int64_t kernel = 3;
  std::int64_t pool_layers = 3;
  std::int64_t residual_blocks = 0;
  std::int64_t layers = 6;
  std::int64_t embedding = 384;
  std::int64_t heads = 6;
  std::int64_t segments = 3;
  double dropout = 0.0;
  std::string path;
  std::string weights;
  std::vector<std::string> freeze;
  int unfreeze_epoch = 0;
  std::vector<Entry<SlotModule>> modules;

  template <class = void>
  static constexpr auto fields() {
    using C = HostConfig;
    return std::tuple{
        field("kind", &C::kind,
              "linear (one layer), mlp, cnn, transformer, or exported: a PyTorch model that `esper import` converted; "
              "default: exported where host.path is set, transformer for data of kind text"),
        field("hidden", &C::hidden, "mlp: width of each hidden layer; a slot follows each", between(1, 65536)),
        field("blocks", &C::blocks,
              "cnn: number of convolution blocks; a slot follows each; default raised to pool_layers", between(1, 16)),
        field("base_channels", &C::base_channels,
              "cnn: channels of the first block; each next block doubles them; the last must have <= 65536; the "
              "default is lowered to fit",
              between(1, 4096)),
        field("kernel", &C::kernel, "cnn: kernel size, odd", between(1, 15)),
        field("pool_layers", &C::pool_layers,
              "cnn: number of leading blocks that end in a 2x2 max-pool; the default is lowered to what blocks and "
              "image allow",
              between(0, 16)),
        field("residual_blocks", &C::residual_blocks,
              "cnn: residual blocks of two 3x3 convolutions at the end of each block, before its slot; copies of the "
              "last one can be grown",
              between(0, 64)),
        field("layers", &C::layers,
              "transformer: number of layers; the default is rounded to a multiple of the segments", between(1, 128)),
        field("embedding", &C::embedding, "transformer: width; the default is rounded to a multiple of the heads",
              between(1, 65536)),
        field("heads", &C::heads, "transformer: attention heads; must divide the width; the default is lowered to fit",
              between(1, 1024)),
        field("segments", &C::segments,
              "transformer: number of segments of layers; a slot follows each; the default is lowered to fit",
              between(1, 128)),
        field("dropout", &C::dropout, "mlp and transformer: dropout probability while training", between(0, 0.95)),
        field("path", &C::path, "exported: the folder that `esper import` wrote"),
        field("weights", &C::weights,
              "safetensors file with values for parameters and buffers of the same names, with or without `host.` "
              "before them; names that only the file or only the network has are listed; empty: the network's own "
              "initialisation"),
        field("freeze", &C::freeze,
              "parameters of the host that are not trained, as patterns of their names, like \"features.*\""),
        field("unfreeze_epoch", &C::unfreeze_epoch, "epoch after which they are trained, too; 0: never",
              between(0, 1e6)),
        field("modules", &C::modules,
              "modules that are part of the host from the start, each as SLOT=BLUEPRINT, like "
              "r0c0=conv_heavy")};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
