#pragma once
#include <chrono>
#include <cstdint>

#include "base/quantity.h"
#include "config/entry.h"
#include "config/field.h"
#include "config/slot_alpha.h"
#include "config/slot_classes.h"

namespace esper::config {

// How a seed's output joins the host's. h: host feature, s: seed output, a: alpha. Formulas: kasmina/composition.h.
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

// How a seed learns before it is blended in. Formulas: kasmina/seed.h.
enum class SeedTraining { kBlended, kShadow, kStraightThrough };
constexpr auto names(SeedTraining) {
  using S = SeedTraining;
  return std::array{std::pair{S::kBlended, "blended"}, std::pair{S::kShadow, "shadow"},
                    std::pair{S::kStraightThrough, "straight_through"}};
}

// Which seed answers for how much of a microbatch's gradient on the host. Formulas: step/attribution.h.
enum class Attribution { kUniform, kApprox, kProbe, kDataloader };
constexpr auto names(Attribution) {
  using A = Attribution;
  return std::array{std::pair{A::kUniform, "uniform"}, std::pair{A::kApprox, "approx"}, std::pair{A::kProbe, "probe"},
                    std::pair{A::kDataloader, "dataloader"}};
}

enum class GradientSurgery { kNone, kPcgrad };
constexpr auto names(GradientSurgery) {
  using S = GradientSurgery;
  return std::array{std::pair{S::kNone, "none"}, std::pair{S::kPcgrad, "pcgrad"}};
}

// How the gradients of several seeds come together on the host's parameters.
struct AggregationConfig {
  Attribution attribution = Attribution::kUniform;
  std::vector<Entry<SlotClasses>> classes;
  GradientSurgery surgery = GradientSurgery::kPcgrad;
  double conflict_warn = 0.75;
  double seed_conflict_warn = 0.5;
  double share_jump_warn = 0.3;
  bool seed_figures = true;
  int layers_shown = 0;

  static constexpr auto fields() {
    using C = AggregationConfig;
    return std::tuple{
        field("attribution", &C::attribution,
              "how a microbatch is attributed to seeds: equally (uniform), by the gradient's projection on each seed's "
              "change (approx), by the loss increase without the seed (probe), or by its classes (dataloader)"),
        field("classes", &C::classes,
              "for dataloader: the classes attributed to a slot's seed, like r0c1=0,1,2; all other classes are "
              "attributed equally"),
        field("surgery", &C::surgery,
              "pcgrad projects out conflicting gradient components; needs two or more seeds, two or more microbatches "
              "and an attribution other than uniform"),
        field("conflict_warn", &C::conflict_warn,
              "fraction of conflicting pairs in an epoch above which a warning is reported", between(0, 1)),
        field("seed_conflict_warn", &C::seed_conflict_warn, "the same fraction for one seed and the others",
              between(0, 1)),
        field("share_jump_warn", &C::share_jump_warn,
              "change of a seed's share of the gradient from epoch to epoch above which a warning is reported",
              between(0, 1)),
        field("seed_figures", &C::seed_figures, "measure weight, conflicts and isolation of each growing seed"),
        field("layers_shown", &C::layers_shown,
              "how many of each seed's layers report their gradient norm, largest first", between(0, 1000))};
  }
};

// No gradient may flow back through the input of a seed that is isolated from the host.
struct IsolationConfig {
  double max_cosine = 1e-6;
  bool strict = false;

  static constexpr auto fields() {
    using C = IsolationConfig;
    return std::tuple{
        field("max_cosine", &C::max_cosine,
              "largest allowed cosine between the host gradient around an isolated seed and the gradient through it",
              between(0, 1)),
        field("strict", &C::strict, "cull a seed that violates its isolation; otherwise only report it")};
  }
};

// What the gates G2, G4 and G5 judge a seed by, besides its epochs. kasmina/gates.cpp has the conditions.
enum class Evidence { kControl, kAblation, kNone };
constexpr auto names(Evidence) {
  using E = Evidence;
  return std::array{std::pair{E::kControl, "control"}, std::pair{E::kAblation, "ablation"},
                    std::pair{E::kNone, "none"}};
}

// Thresholds of the lifecycle's gates; percentages are points of validation accuracy.
struct GateConfig {
  Evidence evidence = Evidence::kAblation;
  int min_training_epochs = 3;
  double min_improvement_points = 0.5;
  double min_gradient_ratio = 0.10;
  int min_blending_epochs = 3;
  int min_shadow_epochs = 1;
  double max_shadow_drop_points = 1.0;
  int min_probation_epochs = 1;
  double min_contribution_points = 1.0;
  double min_worth_loss = 0.0;
  double min_worth_points = 0.0;

  static constexpr auto fields() {
    using C = GateConfig;
    return std::tuple{
        field(
            "evidence", &C::evidence,
            "what a seed is judged by: its worth against a network that trained without it (control), validation with "
            "the seed on and off (ablation), or its epochs alone (none); default: none for training blended"),
        field("min_training_epochs", &C::min_training_epochs,
              "G2: epochs in TRAINING before blending; default: 1 for training blended", between(1, 1e6)),
        field("min_improvement_points", &C::min_improvement_points,
              "G2, ablation: accuracy points gained since TRAINING began", between(-100, 100)),
        field("min_gradient_ratio", &C::min_gradient_ratio,
              "G2: seed's gradient norm divided by the host's, normalised by size", between(0, 1e3)),
        field(
            "min_blending_epochs", &C::min_blending_epochs,
            "G3: epochs in BLENDING before shadowing; alpha must also have reached its target; default: 1 for training "
            "blended",
            between(1, 1e6)),
        field("min_shadow_epochs", &C::min_shadow_epochs, "G4: epochs in SHADOWING", between(1, 1e6)),
        field(
            "max_shadow_drop_points", &C::max_shadow_drop_points,
            "G4: largest allowed drop in accuracy points; ablation: of the seed at full alpha, compared with the "
            "running network; control: of the running network, compared with the control, at the interval's lower end, "
            "where its worth in loss is not shown",
            between(0, 100)),
        field("min_probation_epochs", &C::min_probation_epochs, "G5: epochs in PROBATIONARY", between(1, 1e6)),
        field("min_contribution_points", &C::min_contribution_points,
              "G5, ablation: drop in validation accuracy points without the seed", between(-100, 100)),
        field("min_worth_loss", &C::min_worth_loss,
              "G5, control: the worth in validation loss must be above this at its interval's lower end, or that in "
              "points above min_worth_points; G2: at its upper end at least this",
              between(-100, 100)),
        field("min_worth_points", &C::min_worth_points,
              "G5, control: the worth in validation accuracy points must be above this at its interval's lower end, or "
              "that in loss above min_worth_loss",
              between(-100, 100))};
  }
};

// How the value of each seed is measured. Definitions: tolaria/evaluation/shapley.h.
struct CounterfactualConfig {
  int every_epochs = 5;
  int max_configurations = 64;
  int max_rows = 2048;
  base::Duration deadline = std::chrono::seconds(300);
  bool pairs = true;

  static constexpr auto fields() {
    using C = CounterfactualConfig;
    return std::tuple{
        field("every_epochs", &C::every_epochs,
              "epochs between two measurements; epochs with a seed in PROBATIONARY are always measured, 0 skips all "
              "others",
              between(0, 1e6)),
        field("max_configurations", &C::max_configurations,
              "seed on/off configurations that one measurement evaluates; values are exact if it covers all 2^seeds",
              between(2, 1024)),
        field("max_rows", &C::max_rows,
              "samples times configurations in one forward pass; more needs more memory and is not always faster",
              between(1, 1e6)),
        field("deadline", &C::deadline,
              "time limit of one measurement; then sampling stops and a running pass is cancelled"),
        field("pairs", &C::pairs, "also measure each pair of seeds together")};
  }
  void validate(Findings& out) const;
};

// The learning rate of a seed: that of the run times a factor of its own, from the step at which its training begins
// until the run's end. Formulas: step/seed_rates.h.
enum class SeedScheduleKind { kRun, kCosine };
constexpr auto names(SeedScheduleKind) {
  using K = SeedScheduleKind;
  return std::array{std::pair{K::kRun, "run"}, std::pair{K::kCosine, "cosine"}};
}

struct SeedScheduleConfig {
  SeedScheduleKind kind = SeedScheduleKind::kRun;
  std::int64_t warmup_steps = 0;
  double scale = 1.0;
  std::int64_t host_rewarm_steps = 0;
  bool operator==(const SeedScheduleConfig&) const = default;

  static constexpr auto fields() {
    using C = SeedScheduleConfig;
    return std::tuple{
        field("kind", &C::kind,
              "run: as training.schedule; cosine: its own, from the seed's first training step to the run's end"),
        field("warmup_steps", &C::warmup_steps, "linear warm-up from the seed's first training step", at_least(0)),
        field("scale", &C::scale, "factor on the seed's learning rate, fossilised seeds included", between(0, 1e3)),
        field("host_rewarm_steps", &C::host_rewarm_steps,
              "linear warm-up of all other parameters from a seed's first training step; 0 turns it off", at_least(0))};
  }
};

// The control that a seed's worth is measured against, for gates.evidence: control. Definition: leyline/seed_worth.h.
struct ControlConfig {
  int epochs = 3;
  double budget = 0.1;

  static constexpr auto fields() {
    using C = ControlConfig;
    return std::tuple{
        field("epochs", &C::epochs, "epochs from germination on that are also trained without the seed",
              between(1, 1e6)),
        field("budget", &C::budget,
              "training steps of all controls together, as a fraction of the run's planned steps; a control that does "
              "not fit is shorter, and where no epoch fits no seed germinates",
              between(0, 10))};
  }
};

// What growth does to the network.
enum class GrowthKind { kModules, kDeepen };
constexpr auto names(GrowthKind) {
  using K = GrowthKind;
  return std::array{std::pair{K::kModules, "modules"}, std::pair{K::kDeepen, "deepen"}};
}

// Whether a copied block starts as the identity or as it is. Definition: leyline::Birth.
enum class DeepenForm { kIdentity, kPlain };
constexpr auto names(DeepenForm) {
  using F = DeepenForm;
  return std::array{std::pair{F::kIdentity, "identity"}, std::pair{F::kPlain, "plain"}};
}

// For kind deepen: when, and by how much.
struct DeepenConfig {
  std::string at = "25%";
  int copies = 1;
  DeepenForm form = DeepenForm::kIdentity;

  static constexpr auto fields() {
    using C = DeepenConfig;
    return std::tuple{
        field("at", &C::at, "after which epoch, or after which percentage of the run's epochs; like 10 or 25%"),
        field("copies", &C::copies, "copies of each block, one behind the other", between(1, 64)),
        field("form", &C::form,
              "identity: the copies' outputs start at zero, so that the network's output stays the same; plain: the "
              "blocks are copied as they are")};
  }
};

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

  static constexpr auto fields() {
    using C = GrowthConfig;
    return std::tuple{
        field(
            "kind", &C::kind,
            "modules: the policy grows modules of the catalogue; deepen: the blocks before the host's slots, or those "
            "of growth.slots, are copied at once behind themselves"),
        field("enabled", &C::enabled, "enables growth"),
        field("blueprints", &C::blueprints,
              "blueprints that may be grown; empty allows all that fit the host, but not noop and copies of its "
              "blocks"),
        field("slots", &C::slots, "slots where modules may grow, like r0c1; empty allows all"),
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
