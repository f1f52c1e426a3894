#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/quantity.h"
#include "base/text/joined.h"
#include "config/entries/entry.h"
#include "config/entries/scheduled_germination.h"
#include "config/field.h"
#include "config/gnn_config.h"
#include "config/service_config.h"

namespace esper::config {

enum class PolicyKind { kNone, kHeuristic, kPeriodic, kRandom, kSchedule, kGnn, kProcess, kEnsemble };
constexpr auto names(PolicyKind) {
  using K = PolicyKind;
  return std::array{std::pair{K::kNone, "none"},         std::pair{K::kHeuristic, "heuristic"},
                    std::pair{K::kPeriodic, "periodic"}, std::pair{K::kRandom, "random"},
                    std::pair{K::kSchedule, "schedule"}, std::pair{K::kGnn, "gnn"},
                    std::pair{K::kProcess, "process"},   std::pair{K::kEnsemble, "ensemble"}};
}

// The kinds that decide by themselves: all but ensemble.
inline std::vector<std::string> single_policy_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, name] : names(PolicyKind{})) {
    if (kind != PolicyKind::kEnsemble) kinds.emplace_back(name);
  }
  return kinds;
}

// Of that name; none where there is no such kind.
inline std::optional<PolicyKind> single_policy_kind(std::string_view name) {
  const auto kind = base::from_name<PolicyKind>(name);
  return kind != PolicyKind::kEnsemble ? kind : std::nullopt;
}

// Where a policy of Esper's own runs.
enum class PolicyHost { kThread, kProcess };
constexpr auto names(PolicyHost) {
  using H = PolicyHost;
  return std::array{std::pair{H::kThread, "thread"}, std::pair{H::kProcess, "process"}};
}

// A policy that an ensemble asks.
struct EnsembleMember {
  PolicyKind kind = PolicyKind::kNone;

  static base::Expected<EnsembleMember> parse(std::string_view text) {
    if (const auto kind = single_policy_kind(text)) return EnsembleMember{*kind};
    return base::failure("\"" + std::string(text) + "\" is not a policy that an ensemble can ask; those are " +
                         base::joined(single_policy_kinds()));
  }
};

struct HeuristicConfig {
  int seeds_at_once = 1;
  int plateau_epochs = 3;
  double plateau_points = 0.5;
  int min_epochs_before_germinate = 5;
  int prune_after_epochs = 5;
  double prune_drop_points = 2.0;
  double min_fossilize_points = 0.5;
  int embargo_epochs = 5;
  double penalty_on_prune = 2.0;
  double penalty_decay = 0.5;
  double penalty_limit = 3.0;
  int stable_epochs = 3;
  double stable_relative_improvement = 0.03;
  int window_epochs = 5;
  double min_share_left = 0.25;
  double max_training_accuracy = 99.0;
  double max_gap_points = 15.0;

  template <class = void>
  static constexpr auto fields() {
    using C = HeuristicConfig;
    return std::tuple{
        field("seeds_at_once", &C::seeds_at_once,
              "maximum number of seeds that grow at the same time; growth.max_seeds also applies", between(1, 64)),
        field("plateau_epochs", &C::plateau_epochs,
              "epochs without progress that count as a plateau; 0 waits for none; default: 0 for training blended",
              between(0, 1e6)),
        field("plateau_points", &C::plateau_points,
              "accuracy points that count as progress, if the validation loss is shown to be lower at 95 %",
              between(0, 100)),
        field("min_epochs_before_germinate", &C::min_epochs_before_germinate,
              "epochs before the first seed; default: 2 for training blended", between(0, 1e6)),
        field("prune_after_epochs", &C::prune_after_epochs,
              "epochs without a shown improvement after which a seed of any policy is pruned", between(1, 1e6)),
        field("prune_drop_points", &C::prune_drop_points,
              "drop in accuracy points, shown at 95 %, that prunes a seed of any policy", between(0, 100)),
        field("min_fossilize_points", &C::min_fossilize_points,
              "contribution in accuracy points needed to fossilise a seed of any policy; applies with "
              "growth.gates.evidence "
              "ablation, which measures it",
              between(-100, 100)),
        field("embargo_epochs", &C::embargo_epochs, "epochs between a prune and the next germination", between(0, 1e6)),
        field("penalty_on_prune", &C::penalty_on_prune, "added to a blueprint's penalty when its seed is pruned",
              between(0, 1e3)),
        field("penalty_decay", &C::penalty_decay, "factor that multiplies every penalty each epoch", between(0, 1)),
        field("penalty_limit", &C::penalty_limit, "blueprints with a higher penalty are skipped", between(0, 1e3)),
        field("stable_epochs", &C::stable_epochs,
              "epochs of little improvement after which the host counts as stable; default: 1 for training blended",
              between(1, 1e6)),
        field("stable_relative_improvement", &C::stable_relative_improvement,
              "relative improvement of the loss that counts as little; default: 0.2 for training blended",
              between(0, 1)),
        field("window_epochs", &C::window_epochs,
              "epochs whose mean validation accuracy and loss are judged, instead of one epoch's", between(1, 1e4)),
        field("min_share_left", &C::min_share_left,
              "share of the run's epochs that must be left for a germination; 0 turns off this rule and the forecast "
              "of whether a germination pays off in the epochs left",
              between(0, 1)),
        field(
            "max_training_accuracy", &C::max_training_accuracy,
            "training accuracy in percent above which nothing is germinated, since the network does not lack capacity",
            between(0, 100)),
        field("max_gap_points", &C::max_gap_points,
              "points by which training accuracy may exceed validation accuracy before nothing is germinated, since "
              "more capacity would only widen the gap",
              between(0, 100))};
  }
};

struct PeriodicConfig {
  int every_epochs = 5;

  template <class = void>
  static constexpr auto fields() {
    using C = PeriodicConfig;
    return std::tuple{field("every_epochs", &C::every_epochs,
                            "epochs from one germination to the next; a germination is skipped if no slot is free or "
                            "growth.max_seeds seeds are growing",
                            between(1, 1e6))};
  }
};

struct RandomConfig {
  double probability = 0.2;
  std::uint64_t seed = 0;

  template <class = void>
  static constexpr auto fields() {
    using C = RandomConfig;
    return std::tuple{
        field("probability", &C::probability, "probability of a germination after each epoch", between(0, 1)),
        field("seed", &C::seed, "seed of epochs, slots and blueprints; 0 takes the run's")};
  }
};

enum class PolicyOverlap { kOff, kOn };
constexpr auto names(PolicyOverlap) {
  using O = PolicyOverlap;
  return std::array{std::pair{O::kOff, "off"}, std::pair{O::kOn, "on"}};
}

struct PolicyConfig {
  PolicyKind kind = PolicyKind::kHeuristic;
  base::Length every{1, base::Length::Unit::kEpochs};
  PolicyOverlap overlap = PolicyOverlap::kOff;
  std::vector<Entry<EnsembleMember>> ensemble;
  PolicyHost host = PolicyHost::kThread;
  std::vector<std::string> command;
  HeuristicConfig heuristic;
  PeriodicConfig periodic;
  RandomConfig random;
  std::vector<Entry<ScheduledGermination>> schedule;
  std::string file;
  GnnConfig gnn;
  BreakerConfig breaker;
  RiskConfig risk;
  int recovery_evaluations = 1;
  ReportsConfig reports;

  template <class = void>
  static constexpr auto fields() {
    using C = PolicyConfig;
    return std::tuple{
        field("kind", &C::kind,
              "what decides when, where and what to grow: none (the network never grows), heuristic, as baselines for "
              "it periodic, random and schedule (docs/growth.md describes each), a neural network (gnn; "
              "docs/policy.md), or your own program (process; docs/controller.md); ensemble asks several, and the "
              "first one in policy.ensemble decides"),
        field("every", &C::every,
              "how often the policy is asked, \"epoch\", \"3 epochs\" or \"200 steps\": at the first end of an epoch "
              "after that many, and after the last epoch; docs/decisions/0024-decisions-at-epoch-ends.md"),
        field("overlap", &C::overlap,
              "on: the policy decides while the next epoch trains, and its commands are carried out at the end of that "
              "epoch; off: training waits for it"),
        field("ensemble", &C::ensemble,
              "the policies that kind ensemble asks after each epoch, by kind: the first decides, the answers of the "
              "others are logged and change nothing; like heuristic, gnn"),
        field("host", &C::host,
              "where one of Esper's own policies runs: in a thread of this process, or in a separate process, which "
              "cannot harm the training and is asked by the policy service (docs/controller.md)"),
        field("command", &C::command,
              "kind process: the program to start, looked up in PATH unless it has a slash, and its arguments; no "
              "shell is used; like python3, controller.py"),
        field("heuristic", &C::heuristic,
              "thresholds of the heuristic; those for pruning and fossilising apply to the seeds of every policy"),
        field("periodic", &C::periodic, "round robin over the slots and over the blueprints of each"),
        field("random", &C::random, "a random blueprint at a random free slot"),
        field("schedule", &C::schedule,
              "kind schedule: after which epoch, or after which percentage of the run's epochs, which slot germinates "
              "which blueprint; like 2:r0c2=conv_light or 30%:r0c2=copy_block*2"),
        field("file", &C::file,
              "weights of the policy network, a safetensors file; empty uses an untrained network, which waits"),
        field("gnn", &C::gnn, "the policy network"),
        field("breaker", &C::breaker,
              "how often a policy that the service asks (gnn, and each in a process of its own) may fail before it is "
              "not "
              "asked for a while"),
        field("risk", &C::risk,
              "what holds back the commands of a policy that the service asks; docs/policy_rules.md lists the rules"),
        field("recovery_evaluations", &C::recovery_evaluations,
              "calm decisions in a row that end conservative mode, in which no command is carried out",
              between(1, 1e6)),
        field("reports", &C::reports, "what is observed of commands that were carried out")};
  }
  void validate(Findings& out) const;

  // The kind that decides: of an ensemble the first.
  PolicyKind deciding() const {
    const bool has_first = kind == PolicyKind::kEnsemble && !ensemble.empty() && ensemble.front();
    return has_first ? ensemble.front()->kind : kind;
  }
  // Whether a policy of this kind runs in a process of its own.
  bool in_process(PolicyKind asked) const {
    return asked == PolicyKind::kProcess || (asked != PolicyKind::kNone && host == PolicyHost::kProcess);
  }
  // Whether it is asked by the service, as one that may be slow, fail, or do harm.
  bool is_served(PolicyKind asked) const { return asked == PolicyKind::kGnn || in_process(asked); }
  // It decides, or is asked beside the one that does.
  bool asks(PolicyKind asked) const {
    if (kind != PolicyKind::kEnsemble) return asked == kind;
    return std::ranges::any_of(ensemble, [&](const auto& member) { return member && member->kind == asked; });
  }
};

}  // namespace esper::config
