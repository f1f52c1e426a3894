#pragma once
#include "config/aggregation_config.h"
#include "config/control_config.h"
#include "config/counterfactual_config.h"
#include "config/deepen_config.h"
#include "config/entries/entry.h"
#include "config/entries/slot_alpha.h"
#include "config/field.h"
#include "config/gate_config.h"
#include "config/isolation_config.h"
#include "config/seed_schedule_config.h"

namespace esper::config {

// How a seed's output joins the host's. h: host feature, s: seed output, a: alpha. See kasmina/seed/composition.h.
enum class Composition { kAdd, kMultiply, kGate, kConvex, kResidual, kChannel, kConfidence };
constexpr auto names(Composition) {
  using C = Composition;
  return std::array{std::pair{C::kAdd, "add"},
                    std::pair{C::kMultiply, "multiply"},
                    std::pair{C::kGate, "gate"},
                    std::pair{C::kConvex, "convex"},
                    std::pair{C::kResidual, "residual"},
                    std::pair{C::kChannel, "channel"},
                    std::pair{C::kConfidence, "confidence"}};
}

// How a seed learns before it is blended in. Formulas: kasmina/seed/seed.h.
enum class SeedTraining { kBlended, kShadow, kStraightThrough };
constexpr auto names(SeedTraining) {
  using S = SeedTraining;
  return std::array{std::pair{S::kBlended, "blended"}, std::pair{S::kShadow, "shadow"},
                    std::pair{S::kStraightThrough, "straight_through"}};
}

// What growth does to the network.
enum class GrowthKind { kModules, kDeepen };
constexpr auto names(GrowthKind) {
  using K = GrowthKind;
  return std::array{std::pair{K::kModules, "modules"}, std::pair{K::kDeepen, "deepen"}};
}

struct GrowthConfig {
  GrowthKind kind = GrowthKind::kModules;
  bool enabled = true;
  std::vector<std::string> blueprints;
  std::vector<std::string> slots;
  Composition composition = Composition::kAdd;
  SeedTraining training = SeedTraining::kBlended;
  SeedScheduleConfig seed_schedule;
  AlphaCurve alpha_curve = AlphaCurve::kSigmoid;
  int alpha_ticks = 5;
  double alpha_target = 1.0;
  std::vector<Entry<SlotAlpha>> slot_alpha;
  bool fold_fossils = true;
  bool isolate = false;
  int max_seeds = 4;
  CounterfactualConfig counterfactual;
  int embargo_epochs = 5;
  int reset_epochs = 1;
  AggregationConfig aggregation;
  IsolationConfig isolation;
  GateConfig gates;
  ControlConfig control;
  DeepenConfig deepen;

  template <class = void>
  static constexpr auto fields() {
    using C = GrowthConfig;
    return std::tuple{
        field("kind", &C::kind,
              "modules: the policy grows modules of the catalogue; deepen: the blocks before the host's slots, or "
              "before those in growth.slots, are all copied at the same time, each copy behind its block"),
        field("enabled", &C::enabled, "enables growth"),
        field("blueprints", &C::blueprints,
              "blueprints that may be grown; empty allows all that fit the host, but not noop and copies of its "
              "blocks"),
        field("slots", &C::slots,
              "slots where modules may grow, like r0c1; of an exported host its modules, like layer3.*; empty allows "
              "all"),
        field("composition", &C::composition, "how a module's output is combined with the host's"),
        field("training", &C::training,
              "how a seed learns: blended (part of the network from its first step on), shadow (beside it, in a second "
              "forward at alpha 1) or straight_through (beside it, on a linearised loss)"),
        field("seed_schedule", &C::seed_schedule, "learning rate of seeds"),
        field("alpha_curve", &C::alpha_curve, "curve of alpha from 0 to its target"),
        field("alpha_ticks", &C::alpha_ticks, "epochs until alpha reaches its target; default: 2 for training blended",
              between(1, 1e6)),
        field("alpha_target", &C::alpha_target, "alpha at the end of blending; probation then raises it to 1",
              between(0.05, 1)),
        field("slot_alpha", &C::slot_alpha, "per-slot curve, epochs and target of alpha, like r0c1=cosine,8,0.7"),
        field("fold_fossils", &C::fold_fossils,
              "fold a linear fossilised module into the host's next layer if the output stays the same"),
        field("isolate", &C::isolate,
              "block the gradient through a growing seed's input into the host; default: true for straight_through"),
        field("max_seeds", &C::max_seeds,
              "maximum number of growing modules at the same time, fossilised ones not counted", between(1, 64)),
        field("counterfactual", &C::counterfactual, "how each seed's contribution is measured"),
        field("embargo_epochs", &C::embargo_epochs, "epochs that a slot stays blocked after a cull", between(0, 1e6)),
        field("reset_epochs", &C::reset_epochs, "epochs in RESETTING before the slot is free", between(1, 1e6)),
        field("aggregation", &C::aggregation, "how the gradients of several seeds are combined"),
        field("isolation", &C::isolation,
              "handling of isolation violations (an isolated seed's gradient reaches the host)"),
        field("gates", &C::gates, "thresholds that a seed must meet to change stage"),
        field("control", &C::control, "how a seed's worth is measured against a network that trains without it"),
        field("deepen", &C::deepen, "for kind deepen: when and how")};
  }
  void validate(Findings& out) const;
};

}  // namespace esper::config
