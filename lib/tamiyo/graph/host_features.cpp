// What the policy sees of the host's blocks, their activations and the numbers that a command sets.

#include "tamiyo/graph/feature_rows.h"

namespace esper::tamiyo {

using leyline::ActivationKind;
using leyline::BlockKind;

namespace {

constexpr double kKinds = 1024;  // places that a table of kinds may get
constexpr double kCommandScale = 10;

double or_absent(const std::optional<double>& value) { return value.value_or(kAbsent); }

// The share of the output's variance that no linear function of the input explains, for standard normal inputs.
double nonlinearity(ActivationKind activation) {
  switch (activation) {
    case ActivationKind::kNone:
      return 0;
    case ActivationKind::kRelu:
      return 0.2665;
    case ActivationKind::kGelu:
      return 0.2767;
    case ActivationKind::kTanh:
      return 0.0695;
    case ActivationKind::kSigmoid:
      return 0.0158;
  }
  return kAbsent;
}

constexpr FeatureRow<LayerNode> kLayerRows[] = {
    {{.name = "depth",
      .unit = "fraction",
      .range = "0 to 1",
      .meaning = "depth of the block among the host's: 0 the first, 1 the last"},
     [](const LayerNode& node) { return node.depth; }},
    {{.name = "latency_ms",
      .unit = "ms",
      .range = ">= 0",
      .meaning = "time of its forward",
      .statistic = Statistic::kLayerLatencyMs},
     [](const LayerNode& node) { return or_absent(node.block->latency_ms); }},
    {{.name = "parameters",
      .unit = "numbers",
      .range = ">= 0",
      .meaning = "number of its trainable parameters",
      .transform = Transform::kLog1p,
      .statistic = Statistic::kLayerParameterCount},
     [](const LayerNode& node) { return static_cast<double>(node.block->params); }},
    {{.name = "dropout",
      .unit = "probability",
      .range = "0 to 1",
      .meaning = "its dropout while it trains",
      .flag = Flag::kNone},
     [](const LayerNode& node) { return or_absent(node.block->dropout); }},
    {{.name = "kind",
      .unit = "place",
      .range = "0 to 1023",
      .meaning = "what it is: 1 dense, 2 convolution, 3 transformer, 4 embedding, 5 norm, 6 head",
      .divisor = kKinds,
      .flag = Flag::kNone},
     [](const LayerNode& node) { return static_cast<double>(node.block->kind); }},
    {{.name = "activation",
      .unit = "place",
      .range = "0 to 1023",
      .meaning = "its activation: 0 none, 1 relu, 2 gelu, 3 tanh, 4 sigmoid",
      .divisor = kKinds,
      .flag = Flag::kNone},
     [](const LayerNode& node) { return static_cast<double>(node.block->activation); }},
    {{.name = "weight_norm",
      .unit = "norm",
      .range = ">= 0",
      .meaning = "norm of its parameters",
      .statistic = Statistic::kLayerWeightNorm,
      .flag = Flag::kNone},
     [](const LayerNode& node) { return or_absent(node.block->weight_norm); }},
    {{.name = "gradient_norm",
      .unit = "norm",
      .range = ">= 0",
      .meaning = "norm of its gradient, mean over the epoch's steps",
      .statistic = Statistic::kLayerGradientNorm,
      .flag = Flag::kNone},
     [](const LayerNode& node) { return or_absent(node.block->gradient_norm); }},
    {{.name = "described", .unit = "yes or no", .range = "0 or 1", .meaning = "its kind is known", .flag = Flag::kNone},
     [](const LayerNode& node) { return node.block->kind == BlockKind::kUnknown ? 0.0 : 1.0; }},
};

constexpr FeatureRow<ActivationNode> kActivationRows[] = {
    {{.name = "kind",
      .unit = "place",
      .range = "0 to 1023",
      .meaning = "what it is: 1 relu, 2 gelu, 3 tanh, 4 sigmoid",
      .divisor = kKinds},
     [](const ActivationNode& node) { return static_cast<double>(node.block->activation); }},
    {{.name = "saturation",
      .unit = "fraction",
      .range = "0 to 1",
      .meaning = "share of its units whose gradient is 0",
      .statistic = Statistic::kActivationSaturation},
     [](const ActivationNode& node) { return or_absent(node.block->saturation); }},
    {{.name = "gradient_flow",
      .unit = "ratio",
      .range = ">= 0",
      .meaning = "the gradient's norm behind it over that ahead of it",
      .statistic = Statistic::kActivationGradientFlow,
      .flag = Flag::kNone},
     [](const ActivationNode& node) { return or_absent(node.block->gradient_flow); }},
    {{.name = "cost",
      .unit = "numbers",
      .range = ">= 1",
      .meaning = "numbers that pass it at each position (sample, pixel, token)",
      .transform = Transform::kLog1p,
      .statistic = Statistic::kActivationCost,
      .flag = Flag::kNone},
     [](const ActivationNode& node) {
       const auto& units = node.block->activation_units;
       return units ? static_cast<double>(*units) : kAbsent;
     }},
    {{.name = "nonlinearity",
      .unit = "fraction",
      .range = "0 to 1",
      .meaning =
          "share of its output's variance that no linear function of its input explains, for standard normal inputs",
      .statistic = Statistic::kActivationNonlinearity,
      .flag = Flag::kNone},
     [](const ActivationNode& node) { return nonlinearity(node.block->activation); }},
    {{.name = "position", .unit = "fraction", .range = "0 to 1", .meaning = "depth of its block", .flag = Flag::kNone},
     [](const ActivationNode& node) { return node.depth; }},
};

constexpr FeatureRow<ParameterNode> kParameterRows[] = {
    {{.name = "min",
      .unit = "its own",
      .range = "any",
      .meaning = "smallest useful value in this run",
      .statistic = Statistic::kParameterMin},
     [](const ParameterNode& node) { return node.parameter->min; }},
    {{.name = "max",
      .unit = "its own",
      .range = ">= min",
      .meaning = "largest useful value in this run",
      .statistic = Statistic::kParameterMax},
     [](const ParameterNode& node) { return node.parameter->max; }},
    {{.name = "span",
      .unit = "its own",
      .range = ">= 0",
      .meaning = "max - min",
      .statistic = Statistic::kParameterSpan},
     [](const ParameterNode& node) { return node.parameter->max - node.parameter->min; }},
    {{.name = "default",
      .unit = "its own",
      .range = "min to max",
      .meaning = "value where the command gives none",
      .statistic = Statistic::kParameterDefault},
     [](const ParameterNode& node) { return node.parameter->usual; }},
    {{.name = "risk",
      .unit = "fraction",
      .range = "0 to 1",
      .meaning = "mean risk of the blueprints that it would be used with",
      .flag = Flag::kNone},
     [](const ParameterNode& node) { return node.risk; }},
    {{.name = "stage",
      .unit = "stage's number",
      .range = "0 to 11",
      .meaning = "stage that its command leads to: 2 (GERMINATED)",
      .divisor = kCommandScale,
      .flag = Flag::kNone},
     [](const ParameterNode&) { return static_cast<double>(leyline::Stage::kGerminated); }},
};

}  // namespace

std::span<const FeatureRow<LayerNode>> layer_rows() { return kLayerRows; }
std::span<const FeatureRow<ActivationNode>> activation_rows() { return kActivationRows; }
std::span<const FeatureRow<ParameterNode>> parameter_rows() { return kParameterRows; }

}  // namespace esper::tamiyo
