// `esper policy explain`: one decision with its reasons, and what the policy saw.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/standard_output.h"
#include "engine/commands.h"
#include "engine/policy/logged_policies.h"
#include "history/growth/decision_log.h"
#include "leyline/command_summary.h"
#include "leyline/decision_json.h"
#include "leyline/observation_json.h"
#include "tamiyo/decision/details.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/graph/build_graph.h"
#include "tamiyo/graph/feature.h"
#include "tamiyo/service/replay.h"
#include "tamiyo/service/service_settings.h"

namespace esper::engine {
namespace {

using base::joined;
using base::write_line;
using leyline::DecisionRecord;
using leyline::Observation;
using nlohmann::ordered_json;
using tamiyo::DecisionDetails;
using tamiyo::NodeType;
using tamiyo::PolicyGraph;

// A decision with all that follows from its record.
struct Explained {
  const DecisionRecord* record;
  std::optional<DecisionDetails> details;  // of a network
  std::vector<tamiyo::Finding> findings;   // risk rules that applied
  tamiyo::GraphBuilder builder;
  const PolicyGraph* seen = nullptr;  // of a network: its graph
};

void build_seen(const config::PolicyConfig& policy, const Observation& seen, Explained& explained) {
  auto normaliser = tamiyo::normaliser_of(explained.record->state);
  if (!normaliser) return;
  const Observation read = policy.gnn.see_times ? seen : tamiyo::without_times(seen);
  explained.builder.read(read);
  explained.builder.update(*normaliser);
  explained.seen = &explained.builder.build(*normaliser);
}

void explain_record(const history::DecisionLog& log, const history::DecisionEntry& entry, Explained& explained) {
  LoggedPolicies policies(log);
  const auto& config = policies.config_of(entry.process);
  explained.record = &entry.record;
  if (auto details = tamiyo::read_details(entry.record.answer.decision.details))
    explained.details = *std::move(details);
  const auto settings = tamiyo::service_settings(config.policy, config.safety.policy_deadline);
  if (auto again = tamiyo::evaluate_again(entry.record, settings)) {
    explained.findings = std::move(again->findings);
  }
  build_seen(config.policy, entry.record.observation, explained);
}

// "seed-0001", or the empty slot.
std::string candidate_text(const tamiyo::SeedCandidate& candidate) {
  return candidate.seed_id.empty() ? candidate.slot : candidate.seed_id;
}

std::vector<std::string> targets_of(const Explained& explained, const tamiyo::ActionDetails& action) {
  std::vector<std::string> targets;
  if (explained.seen == nullptr) return targets;
  const auto& seeds = explained.seen->candidates.seeds;
  for (const int row : action.targets) {
    if (row >= 0 && static_cast<std::size_t>(row) < seeds.size()) {
      targets.push_back(candidate_text(seeds[static_cast<std::size_t>(row)]));
    }
  }
  return targets;
}

void print_decision(const DecisionRecord& record) {
  const auto& [outcome, problem, latency_ms, decision] = record.answer;
  const auto& seen = record.observation;
  write_line(fmt::format("epoch {} of {}, step {}: {} decided {} in {:.3g} ms", seen.current_epoch, seen.num_epochs,
                         seen.global_step, record.policy,
                         outcome == "decided" ? leyline::summary(decision) : "nothing: " + outcome + ", " + problem,
                         latency_ms));
  if (!decision.reason.empty()) write_line("  reason: " + decision.reason);
  for (const auto& command : decision.commands) {
    const auto reason = command.annotations.find("reason");
    if (reason == command.annotations.end()) continue;
    write_line(fmt::format("  {}: {}", command_name(command), reason->second));
  }
  if (leyline::command_names(decision) != leyline::command_names(record.carried_out)) {
    write_line(fmt::format("  carried out: {}, held by {}", leyline::summary(record.carried_out), record.held_by));
  }
}

void print_findings(const std::vector<tamiyo::Finding>& findings) {
  if (findings.empty()) return;
  write_line("risk rules that applied");
  for (const auto& [rule, verdict] : findings) {
    write_line(fmt::format("  {}: {:.4g}, threshold {:.4g}: {}", rule->reason, verdict.measured, verdict.threshold,
                           base::name_of(verdict.change)));
  }
}

void print_actions(const Explained& explained) {
  if (!explained.details) return;
  const auto& [action, probability, seed, blueprint] = explained.details->choice;
  write_line(fmt::format("actions; chosen: {} (probability {:.3g})", action, probability));
  for (const auto& row : explained.details->actions) {
    const auto targets = targets_of(explained, row);
    write_line(fmt::format("  {:<10} score {:>9.4g}  {}", row.name, row.score,
                           !row.is_possible  ? "not possible"
                           : targets.empty() ? "possible"
                                             : "possible: " + joined(targets)));
  }
}

std::string seed_text(const leyline::SeedState& seed) {
  return fmt::format("{} {} at {}, {}, age {} epochs, alpha {:.3g}", seed.seed_id, seed.blueprint, seed.slot,
                     base::name_of(seed.stage), seed.age_epochs, seed.figures.alpha);
}

void print_observation(const Observation& seen) {
  write_line("what it saw");
  write_line(fmt::format("  loss: training {:.4g}, validation {:.4g}; validation accuracy {:.2f} %", seen.training_loss,
                         seen.validation_loss, 100 * seen.validation_accuracy));
  for (const auto& seed : seen.seed_states) write_line("  seed: " + seed_text(seed));
  for (const auto& slot : seen.slots) {
    if (slot.stage != leyline::Stage::kDormant) continue;
    write_line(fmt::format("  free slot {}: {}", slot.slot,
                           slot.blueprints.empty() ? "nothing fits" : joined(slot.blueprints)));
  }
  if (!seen.germination_barred.empty()) write_line("  no germination: " + seen.germination_barred);
}

std::string node_name(const PolicyGraph& seen, NodeType type, int row) {
  const auto index = static_cast<std::size_t>(row);
  const auto kind = base::name_of(type);
  if (type == NodeType::kSeed) return fmt::format("{} {}", kind, candidate_text(seen.candidates.seeds[index]));
  if (type == NodeType::kBlueprint) return fmt::format("{} {}", kind, seen.candidates.blueprints[index]);
  return fmt::format("{} {}", kind, row);
}

// {"loss": 0.3, "depth": null}: scaled, as the network gets them.
ordered_json features_json(const tamiyo::NodeTable& table, NodeType type, int row) {
  auto features = ordered_json::object();
  auto column = static_cast<std::size_t>(row * tamiyo::kNodeFeatures[static_cast<std::size_t>(type)]);
  for (const auto& feature : tamiyo::features_of(type)) {
    const bool has_flag = feature.flag == tamiyo::Flag::kPresence;
    const bool is_there = !has_flag || table.features[column + 1] > 0;
    features[std::string(feature.name)] = is_there ? ordered_json(table.features[column]) : ordered_json();
    column += static_cast<std::size_t>(feature.columns());
  }
  return features;
}

ordered_json graph_json(const PolicyGraph& seen) {
  auto nodes = ordered_json::array();
  for (std::size_t type = 0; type < seen.graph.nodes.size(); ++type) {
    const auto& table = seen.graph.nodes[type];
    for (int row = 0; row < table.count; ++row) {
      const auto kind = static_cast<NodeType>(type);
      nodes.push_back({{"node", node_name(seen, kind, row)}, {"features", features_json(table, kind, row)}});
    }
  }
  return nodes;
}

void print_graph(const Explained& explained, bool features) {
  if (explained.seen == nullptr) return;
  const auto& graph = explained.seen->graph;
  std::size_t edges = 0;
  for (const auto& list : graph.edges) edges += list.source.size();
  std::vector<std::string> counts;
  for (std::size_t type = 0; type < graph.nodes.size(); ++type) {
    counts.push_back(fmt::format("{} {}", graph.nodes[type].count, base::name_of(static_cast<NodeType>(type))));
  }
  write_line(fmt::format("  graph: {} nodes, {} edges; coverage {:.0f} %", joined(counts), edges,
                         100 * tamiyo::feature_coverage(explained.seen->coverage).ratio()));
  if (!features) return;
  for (const auto& node : graph_json(*explained.seen)) {
    write_line(fmt::format("  {}: {}", node["node"].get<std::string>(), node["features"].dump()));
  }
}

ordered_json explained_json(const ExplainRequest& request, const Explained& explained) {
  const auto& record = *explained.record;
  ordered_json shown = {{"run_dir", request.run_dir},
                        {"epoch", record.observation.current_epoch},
                        {"step", record.observation.global_step},
                        {"policy", record.policy},
                        {"outcome", record.answer.outcome},
                        {"problem", record.answer.problem},
                        {"latency_ms", record.answer.latency_ms},
                        {"commands", leyline::command_names(record.answer.decision)},
                        {"carried_out", leyline::command_names(record.carried_out)},
                        {"held_by", record.held_by},
                        {"decision", leyline::decision_json(record.answer.decision)},
                        {"observation", leyline::observation_json(record.observation)}};
  auto rules = ordered_json::array();
  for (const auto& [rule, verdict] : explained.findings) {
    rules.push_back({{"rule", rule->reason},
                     {"measured", verdict.measured},
                     {"threshold", verdict.threshold},
                     {"change", base::name_of(verdict.change)}});
  }
  shown["rules"] = std::move(rules);
  auto actions = ordered_json::array();
  if (explained.details) {
    for (const auto& row : explained.details->actions) {
      actions.push_back({{"action", row.name},
                         {"score", row.score},
                         {"possible", row.is_possible},
                         {"targets", targets_of(explained, row)}});
    }
  }
  shown["actions"] = std::move(actions);
  if (request.features && explained.seen != nullptr) shown["nodes"] = graph_json(*explained.seen);
  return shown;
}

}  // namespace

int run(const ExplainRequest& request) {
  const auto log = history::read_decision_log(request.run_dir);
  Explained explained;
  explain_record(log, history::decision_after(log, request.epoch), explained);
  if (request.json) {
    base::write_json(explained_json(request, explained));
    return 0;
  }
  print_decision(*explained.record);
  print_findings(explained.findings);
  print_actions(explained);
  print_observation(explained.record->observation);
  print_graph(explained, request.features);
  for (const auto& gap : log.gaps) write_line("note: " + gap);
  return 0;
}

}  // namespace esper::engine
