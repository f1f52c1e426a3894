// docs/blueprints.md, printed from the catalogue.

#include <fmt/core.h>

#include <functional>
#include <map>
#include <sstream>

#include "kasmina/blueprint/families.h"

namespace esper::kasmina {
namespace {

struct Example {
  FeatureShape shape;
  std::string_view heading, words;
};

std::vector<Example> examples() {
  return {{{.kind = FeatureKind::kFeatures, .channels = 64}, "Flat features [C]: host mlp", "C = 64"},
          {{.kind = FeatureKind::kImage, .channels = 64, .height = 8, .width = 8},
           "Images [C, H, W]: host cnn",
           "C = 64, 8 x 8 pixels"},
          {{.kind = FeatureKind::kSequence, .channels = 384, .tokens = 256},
           "Sequences [T, C]: host transformer",
           "C = 384, T = 256"}};
}

void print_row(std::ostream& out, const Blueprint& row, const FeatureShape& shape) {
  out << "| `" << row.name << "` | " << row.policy_index << " | " << row.module << " | " << row.start << " | "
      << row.formula << " | " << row.num_parameters(shape) << " | " << row.flops(shape) << " |\n";
}

// "`noop`, `lora` and `linear`", in the order of the policy's head.
std::string names_where(const std::function<bool(const Blueprint&)>& holds) {
  std::map<int, std::string> names;
  for (const Blueprint& row : blueprints()) {
    if (holds(row)) names[row.policy_index] = fmt::format("`{}`", row.name);
  }
  std::string text;
  for (const auto& [index, name] : names) {
    const bool is_last = index == names.rbegin()->first;
    text += (text.empty() ? "" : is_last ? " and " : ", ") + name;
  }
  return text;
}

}  // namespace

std::string blueprint_markdown() {
  std::ostringstream out;
  out << "# Blueprints\n\n"
         "The modules that can be grown, generated from `lib/leyline/blueprint/blueprint_table.h`; `growth.blueprints` "
         "in a run "
         "file selects them.\n\n"
         "x is the feature at the slot, with C channels; every module returns a feature of the same shape. Neutral: "
         "at birth the output equals the input. "
      << names_where([](const Blueprint& row) { return row.algebra == Algebra::kAffine; })
      << " are linear, so that "
         "a fossil of theirs can be folded into the host (growth.md). "
      << names_where(
             [](const Blueprint& row) { return row.birth == Birth::kIdentityCopy || row.birth == Birth::kPlainCopy; })
      << " copy the host's block before the slot (growth.md#deepening); "
      << names_where([](const Blueprint& row) { return row.birth == Birth::kWidening; })
      << " give that block's hidden layer more units, which the next layer takes too (growth.md#widening). Both kinds "
         "are grown only where `growth.blueprints` names them. Parameters and multiply-adds (of one sample) are "
         "given for an example shape, those of a widening for blocks and convolutions of 3x3 as wide as the slot's "
         "feature (in, k, out: units before, new, behind). Index is the position in the policy's blueprint head.\n";
  for (const Example& example : examples()) {
    out << "\n## " << example.heading << "\n\nThe example is " << example.words
        << ".\n\n| name | index | output | start | parameters | example | multiply-adds |\n"
           "|---|---:|---|---|---|---:|---:|\n";
    for (const Blueprint& row : blueprints()) {
      if (row.fits == example.shape.kind) print_row(out, row, example.shape);
    }
  }
  return out.str();
}

}  // namespace esper::kasmina
