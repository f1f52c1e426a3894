// What the policy sees of the run, its seeds and what can be grown.

#include "tamiyo/graph/feature_rows.h"

namespace esper::tamiyo {

using leyline::Birth;

namespace {

constexpr double kRegistry = 1024;  // places that a table of names may get
constexpr double kBlueprintScale = 10;

double metric(const GlobalNode& node, const char* name) {
  const auto& metrics = node.seen->training_metrics;
  const auto found = metrics.find(name);
  return found == metrics.end() ? kAbsent : found->second;
}

constexpr double stage_number(leyline::Stage stage) { return static_cast<double>(stage); }

double index_of(const leyline::BlueprintFacts* facts) {
  return facts ? static_cast<double>(facts->policy_index) : kAbsent;
}

bool is_neutral(const leyline::BlueprintFacts& facts) { return facts.start.starts_with("neutral"); }

// After the reference: cheap blueprints that came far score high.
double candidate_score(const BlueprintNode& node) {
  const auto settings = static_cast<double>(node.seen->parameters.size());
  const double score = (1 - node.risk) + 0.05 * stage_number(node.stage) + 0.02 * settings;
  return score < 0 ? 0 : score;
}

constexpr FeatureRow<GlobalNode> kGlobalRows[] = {
    {{.name = "loss",
      .unit = "loss",
      .range = ">= 0",
      .meaning = "training loss, mean over the epoch's steps",
      .statistic = Statistic::kLoss},
     [](const GlobalNode& node) { return metric(node, "loss"); }},
    {{.name = "validation_loss",
      .unit = "loss",
      .range = ">= 0",
      .meaning = "validation loss",
      .statistic = Statistic::kValidationLoss},
     [](const GlobalNode& node) { return node.seen->validation_loss; }},
    {{.name = "training_loss",
      .unit = "loss",
      .range = ">= 0",
      .meaning = "training loss as the run reports it",
      .statistic = Statistic::kTrainingLoss},
     [](const GlobalNode& node) { return node.seen->training_loss; }},
    {{.name = "gradient_norm",
      .unit = "norm",
      .range = ">= 0",
      .meaning = "norm of all gradients together, mean over the epoch's steps",
      .statistic = Statistic::kGradientNorm},
     [](const GlobalNode& node) { return metric(node, "gradient_norm"); }},
    {{.name = "samples_per_s",
      .unit = "1/s",
      .range = ">= 0",
      .meaning = "training samples per second",
      .statistic = Statistic::kSamplesPerS},
     [](const GlobalNode& node) { return metric(node, "samples_per_s"); }},
    {{.name = "hook_latency_ms",
      .unit = "ms",
      .range = ">= 0",
      .meaning = "time that growth's hooks took, the metric of that name",
      .statistic = Statistic::kHookLatencyMs},
     [](const GlobalNode& node) { return metric(node, "hook_latency_ms"); }},
    {{.name = "epoch",
      .unit = "epochs",
      .range = ">= 0",
      .meaning = "epochs completed",
      .statistic = Statistic::kGlobalEpoch,
      .flag = Flag::kNone},
     [](const GlobalNode& node) { return static_cast<double>(node.seen->current_epoch); }},
    {{.name = "step",
      .unit = "steps",
      .range = ">= 0",
      .meaning = "training steps done",
      .transform = Transform::kLog1p,
      .statistic = Statistic::kGlobalStep,
      .flag = Flag::kNone},
     [](const GlobalNode& node) { return static_cast<double>(node.seen->global_step); }},
    {{.name = "seeds",
      .unit = "seeds",
      .range = ">= 0",
      .meaning = "growing seeds",
      .transform = Transform::kTanh,
      .flag = Flag::kNone},
     [](const GlobalNode& node) { return static_cast<double>(node.growing_seeds); }},
    {{.name = "epoch_progress",
      .unit = "fraction",
      .range = "0 to 1",
      .meaning = "epochs completed, of those of the run",
      .statistic = Statistic::kEpochProgress,
      .flag = Flag::kNone},
     [](const GlobalNode& node) {
       const auto& seen = *node.seen;
       return seen.num_epochs > 0 ? static_cast<double>(seen.current_epoch) / seen.num_epochs : kAbsent;
     }},
};

constexpr FeatureRow<SeedNode> kSeedRows[] = {
    {{.name = "learning_rate",
      .unit = "rate",
      .range = ">= 0",
      .meaning = "learning rate of its parameters at the epoch's last step",
      .statistic = Statistic::kSeedLearningRate},
     [](const SeedNode& node) { return node.state ? double{node.state->learning_rate} : kAbsent; }},
    {{.name = "risk",
      .unit = "probability",
      .range = "0 to 1",
      .meaning = "chance that it does harm: that its measured worth in loss is below 0, without a control its measured "
                 "contribution, taken as normal with their standard errors",
      .statistic = Statistic::kSeedRisk},
     [](const SeedNode& node) { return node.risk; }},
    {{.name = "gradient_norm",
      .unit = "norm",
      .range = ">= 0",
      .meaning = "norm of its own gradient, mean over the epoch's steps",
      .statistic = Statistic::kSeedGradientNorm},
     [](const SeedNode& node) { return node.state ? double{node.state->gradient_norm} : kAbsent; }},
    {{.name = "age",
      .unit = "epochs",
      .range = ">= 0",
      .meaning = "epochs since its germination",
      .statistic = Statistic::kSeedAge},
     [](const SeedNode& node) { return node.state ? static_cast<double>(node.state->age_epochs) : kAbsent; }},
    {{.name = "stage",
      .unit = "stage's number",
      .range = "1 to 11",
      .meaning = "its stage; 1 (DORMANT) is an empty slot",
      .divisor = stage_number(leyline::Stage::kTerminated)},
     [](const SeedNode& node) { return node.stage == leyline::Stage::kUnknown ? kAbsent : stage_number(node.stage); }},
    {{.name = "layer_depth",
      .unit = "fraction",
      .range = "0 to 1",
      .meaning = "depth of its slot among the host's: 0 nearest the input, 1 nearest the output"},
     [](const SeedNode& node) { return node.depth; }},
    {{.name = "index",
      .unit = "place",
      .range = "0 to 1023",
      .meaning = "place of its blueprint in the catalogue (`docs/blueprints.md`)",
      .divisor = kRegistry,
      .flag = Flag::kNone},
     [](const SeedNode& node) { return index_of(node.facts); }},
    {{.name = "blend_allowed",
      .unit = "yes or no",
      .range = "0 or 1",
      .meaning = "the next command may begin its blend: it is in TRAINING, or an empty slot where something fits and "
                 "the run does not bar germination",
      .flag = Flag::kNone},
     [](const SeedNode& node) { return node.may_blend ? 1.0 : 0.0; }},
};

constexpr FeatureRow<BlueprintNode> kBlueprintRows[] = {
    {{.name = "index",
      .unit = "place",
      .range = "0 to 1023",
      .meaning = "its place in the catalogue (`docs/blueprints.md`)",
      .divisor = kRegistry,
      .flag = Flag::kNone},
     [](const BlueprintNode& node) { return index_of(node.facts); }},
    {{.name = "validation_loss",
      .unit = "loss",
      .range = ">= 0",
      .meaning = "the run's validation loss, which it would be grown to lower",
      .statistic = Statistic::kValidationLoss},
     [](const BlueprintNode& node) { return node.seen->validation_loss; }},
    {{.name = "training_loss",
      .unit = "loss",
      .range = ">= 0",
      .meaning = "the run's training loss",
      .statistic = Statistic::kTrainingLoss},
     [](const BlueprintNode& node) { return node.seen->training_loss; }},
    {{.name = "risk",
      .unit = "fraction",
      .range = "0 to 1",
      .meaning = "share of a forward's multiply-adds that would be its own, in the empty slot where that is least: 0.5 "
                 "doubles the forward",
      .flag = Flag::kNone},
     [](const BlueprintNode& node) { return node.risk; }},
    {{.name = "stage",
      .unit = "stage's number",
      .range = "0 to 11",
      .meaning = "the highest stage of its seeds, fossils included; 0 without one",
      .divisor = kBlueprintScale,
      .flag = Flag::kNone},
     [](const BlueprintNode& node) { return stage_number(node.stage); }},
    {{.name = "parameters",
      .unit = "numbers",
      .range = ">= 0",
      .meaning = "number of trainable parameters that it would have, in the empty slot where they are fewest",
      .transform = Transform::kLog1p,
      .statistic = Statistic::kBlueprintParamLog},
     [](const BlueprintNode& node) { return node.parameters; }},
    {{.name = "tier",
      .unit = "tier",
      .range = "1 or 2",
      .meaning = "1: at birth its output equals its input; 2: it does not",
      .divisor = kBlueprintScale,
      .flag = Flag::kNone},
     [](const BlueprintNode& node) { return !node.facts               ? kAbsent
                                            : is_neutral(*node.facts) ? 1.0
                                                                      : 2.0; }},
    {{.name = "quarantine",
      .unit = "yes or no",
      .range = "0 or 1",
      .meaning = "the run would reject every germination now",
      .flag = Flag::kNone},
     [](const BlueprintNode& node) { return node.seen->germination_barred.empty() ? 0.0 : 1.0; }},
    {{.name = "approval",
      .unit = "yes or no",
      .range = "0 or 1",
      .meaning = "it copies or widens the host's block, which it may only where the run file names it",
      .flag = Flag::kNone},
     [](const BlueprintNode& node) { return !node.facts                          ? kAbsent
                                            : node.facts->birth == Birth::kDrawn ? 0.0
                                                                                 : 1.0; }},
    {{.name = "candidate_score",
      .unit = "score",
      .range = ">= 0",
      .meaning = "max(0, (1 - risk) + 0.05 stage + 0.02 parameters of the command)",
      .statistic = Statistic::kBlueprintCandidateScore},
     [](const BlueprintNode& node) { return candidate_score(node); }},
};

}  // namespace

std::span<const FeatureRow<GlobalNode>> global_rows() { return kGlobalRows; }
std::span<const FeatureRow<SeedNode>> seed_rows() { return kSeedRows; }
std::span<const FeatureRow<BlueprintNode>> blueprint_rows() { return kBlueprintRows; }

}  // namespace esper::tamiyo
