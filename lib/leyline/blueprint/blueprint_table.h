#pragma once
// The catalogue of modules that can be grown: one row for each, with all that is known of it before there is a tensor.
// Run files are checked against it, docs/blueprints.md is printed from it, and lib/kasmina/blueprint/ builds the
// modules, or the host where it is a copy of the host's block: a row without a builder is a bug that the first network
// reports. Any thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "leyline/blueprint/feature_shape.h"

namespace esper::leyline {

// Whether a module's output is, at each position (sample, pixel, token) alone, a matrix times the feature's channels
// there plus an offset, the same at all positions. Such a module can be folded into a linear layer that takes its
// output.
enum class Algebra { kOther, kAffine };

// What a module's parameters are at birth: drawn, or copied from the host's block before the slot, with zeros in the
// layers that end on its residual path (so that it changes nothing) or as they are. A widening copies units of that
// block, and shares their outgoing weights between original and copy.
enum class Birth { kDrawn, kIdentityCopy, kPlainCopy, kWidening };

// Positions in the policy's blueprint head; part of the contract. One name has one position, whatever it is grown at.
namespace policy_index {
inline constexpr int kNoop = 0;
inline constexpr int kConvLight = 1;
inline constexpr int kAttention = 2;
inline constexpr int kNorm = 3;
inline constexpr int kDepthwise = 4;
inline constexpr int kBottleneck = 5;
inline constexpr int kConvSmall = 6;
inline constexpr int kConvHeavy = 7;
inline constexpr int kLora = 8;
inline constexpr int kLoraLarge = 9;
inline constexpr int kMlpSmall = 10;
inline constexpr int kMlp = 11;
inline constexpr int kFlexAttention = 12;
inline constexpr int kLinear = 13;
inline constexpr int kPointwise = 14;
inline constexpr int kCopyBlock = 15;
inline constexpr int kCopyBlockPlain = 16;
inline constexpr int kWiden = 17;
inline constexpr int kWidenHalf = 18;
}  // namespace policy_index

// The least that a feature must have of something.
struct Least {
  std::int64_t count = 1;
  std::string_view otherwise = {};  // why not with less, as a clause; {} stands for the number of channels
};

struct BlueprintFacts {
  std::string_view name;
  FeatureKind fits;  // the kind of feature it can be grown at
  int policy_index;
  std::string_view module;  // what it computes, x being the feature
  // How it starts: "neutral: why" if its output equals its input at birth, else a description.
  std::string_view start;
  std::string_view formula;  // of the parameter count, for the docs
  std::int64_t (*num_parameters)(const FeatureShape& shape);
  // Multiply-adds of one forward of one sample: convolutions, linear layers and attention in full, one an element for a
  // norm or a scaling; activations and sums are not counted.
  std::int64_t (*flops)(const FeatureShape& shape);
  Least channels = {}, positions = {}, numbers = {};  // positions: pixels or tokens; numbers: channels times positions
  Algebra algebra = Algebra::kOther;
  Birth birth = Birth::kDrawn;
  std::int64_t (*further_units)(std::int64_t width) = nullptr;  // of a widening, of a block with that many units
};

// By kind of feature, in the order of the docs.
std::span<const BlueprintFacts> blueprint_table();
// Null if there is none of this name for this kind of feature.
const BlueprintFacts* find_blueprint_facts(std::string_view name, FeatureKind kind);
// Whether there is one of this name for any kind of feature.
bool is_blueprint(std::string_view name);
// Whether it widens the host's block before its slot, at any kind of feature.
bool is_widening(std::string_view name);
// Whether it is grown only where the run names it: a copy of the host's block or units is a choice of its own, and a
// module without parameters cannot learn.
bool must_be_named(const BlueprintFacts& blueprint);
// Fails with the reason, a clause for a sentence, if it cannot be grown at such a feature, or not so many of it in one
// seed. What is not known of the shape counts as enough.
base::Expected<void> check_fit(const BlueprintFacts& blueprint, const FeatureShape& shape, int copies = 1);
inline bool may_fit(const BlueprintFacts& blueprint, const FeatureShape& shape, int copies = 1) {
  return check_fit(blueprint, shape, copies).has_value();
}

// The parts of the table, a file for each kind of feature.
std::span<const BlueprintFacts> feature_blueprints();
std::span<const BlueprintFacts> image_blueprints();
std::span<const BlueprintFacts> sequence_blueprints();

// The row that changes nothing: what the policy chooses to grow nothing of use, and a control in experiments.
constexpr BlueprintFacts noop_blueprint(FeatureKind kind) {
  return {.name = "noop",
          .fits = kind,
          .policy_index = policy_index::kNoop,
          .module = "x",
          .start = "neutral: it is the identity",
          .formula = "0",
          .num_parameters = [](const FeatureShape&) -> std::int64_t { return 0; },
          .flops = [](const FeatureShape&) -> std::int64_t { return 0; },
          .algebra = Algebra::kAffine};
}

}  // namespace esper::leyline
