#include "porting/python/seed_text.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/text/joined.h"
#include "kasmina/blueprint/blueprint.h"
#include "porting/python/python_call.h"
#include "porting/python/seed_class.h"

namespace esper::porting {
namespace {

using config::Composition;
using kasmina::Seed;
using kasmina::Slot;

bool is_heard_in_full(const Seed& seed, float alpha) {
  return alpha == 1 && (seed.composition == Composition::kAdd || seed.composition == Composition::kConvex);
}

// What a seed adds to the feature x, s being its output: kasmina/seed/composition.h.
std::string addition(const Seed& seed, const std::string& module) {
  switch (seed.composition) {
    case Composition::kAdd:
    case Composition::kConvex:
      return "(s - x)";
    case Composition::kResidual:
      return "s";
    case Composition::kMultiply:
      return "x * torch.tanh(s - x)";
    case Composition::kGate:
    case Composition::kChannel:
      return module + ".blend_gate(x) * (s - x)";
    case Composition::kConfidence:
      return "confidence(s) * (s - x)";
  }
  ESPER_CHECK(false, "unknown composition");
  return {};
}

// Its module, and the gate of its composition.
std::vector<std::string> seed_attributes(const SeedPlace& place) {
  const Seed& seed = *place.slot.seed;
  const std::string name = "self." + python_name(seed.id);
  std::vector<std::string> statements = {
      fmt::format("{} = {}  # {} at {}", name, seed_class(place), kasmina::name_of(seed.kind), place.slot.site.id)};
  if (!seed.gate_weight.defined()) return statements;
  const char* gate = seed.composition == Composition::kGate ? "LearnedGate" : "ChannelGate";
  statements.push_back(fmt::format("{}.blend_gate = {}", name, python_call(gate, {seed.shape.channels})));
  return statements;
}

std::string inputs_and_outputs(const leyline::SampleShape& sample) {
  if (sample.kind == leyline::SampleKind::kTokens) {
    return fmt::format("int64 [B, T], T <= {}, to float32 [B, T, {}]", sample.context, sample.num_classes);
  }
  return fmt::format("float32 [B, {}] to float32 [B, {}]", base::joined(sample.sizes()), sample.num_classes);
}

}  // namespace

bool is_part(const Slot& slot) {
  if (!slot.seed || slot.seed->folded) return false;
  return slot.seed->in_host || slot.seed->scalars.alpha.item<float>() != 0;
}

std::vector<std::string> seed_statements(const Seed& seed) {
  const std::string module = "self." + python_name(seed.id);
  const auto alpha = seed.scalars.alpha.item<float>();
  if (is_heard_in_full(seed, alpha)) return {fmt::format("x = {}(x)", module)};
  const auto share = alpha == 1 ? "" : fmt::format("{} * ", alpha);
  return {fmt::format("s = {}(x)", module), fmt::format("x = x + {}{}", share, addition(seed, module))};
}

std::string return_statement(const NetworkSource& source, const std::string& outputs) {
  return source.has_standardised_targets ? fmt::format("return self.target_units({})", outputs) : "return " + outputs;
}

std::string class_text(const NetworkSource& source, const std::vector<std::string>& host, const std::string& forward) {
  auto statements = host;
  const auto& slots = source.network.structure.slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!is_part(slots[i])) continue;
    const auto own = seed_attributes({slots[i], i, source.host});
    statements.insert(statements.end(), own.begin(), own.end());
  }
  if (source.has_standardised_targets) {
    statements.push_back("self.target_units = TargetUnits(TARGET_MEAN, TARGET_DEVIATION)");
  }
  return fmt::format(
      "class Network(nn.Module):\n"
      "    \"\"\"{}, as preprocess() makes it.\"\"\"\n\n"
      "    def __init__(self):\n"
      "        super().__init__()\n"
      "{}\n"
      "    def forward(self, x):\n{}",
      inputs_and_outputs(source.sample),
      base::joined(statements, "", [](const std::string& each) { return fmt::format("{}{}\n", kIndent, each); }),
      forward);
}

}  // namespace esper::porting
