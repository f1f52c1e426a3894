// `esper policy swap`: where another policy would have decided otherwise, epoch by epoch.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/text/standard_output.h"
#include "engine/commands.h"
#include "engine/policy/logged_policies.h"
#include "engine/policy/make_controller.h"
#include "engine/trusted_programs.h"
#include "history/growth/decision_log.h"
#include "leyline/command_summary.h"
#include "tamiyo/service/replay.h"

namespace esper::engine {
namespace {

using base::write_line;
using history::DecisionLog;
using nlohmann::ordered_json;

struct Swapped {
  const leyline::DecisionRecord* record;
  tamiyo::Replayed instead;
  bool is_same = false;  // both do the same
};

// The settings of the newest process; of a policy file its own weights.
std::unique_ptr<leyline::Controller> make_other(const SwapRequest& request, const DecisionLog& log) {
  LoggedPolicies policies(log);
  auto config = policies.config_of(log.processes.size() - 1);
  if (!request.policy_file.empty()) config.policy.file = request.policy_file;
  if (request.policy == config::PolicyKind::kProcess && request.trust_program) trust_program(config.policy.command);
  return make_controller(request.policy, config);
}

std::vector<Swapped> swap(const DecisionLog& log, leyline::Controller& other) {
  std::vector<Swapped> all;
  for (const auto& entry : log.entries) {
    Swapped one{&entry.record, tamiyo::decide_instead(entry.record, other), false};
    one.is_same = one.instead.decision &&
                  leyline::command_names(*one.instead.decision) == leyline::command_names(entry.record.answer.decision);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json json_of(const Swapped& one) {
  const auto& decided = one.record->answer;
  ordered_json shown = {{"epoch", one.record->observation.current_epoch},
                        {"step", one.record->observation.global_step},
                        {"outcome", decided.outcome},
                        {"recorded", leyline::command_names(decided.decision)},
                        {"recorded_reason", decided.decision.reason},
                        {"same", one.is_same}};
  if (one.instead.decision) {
    shown["instead"] = leyline::command_names(*one.instead.decision);
    shown["instead_reason"] = one.instead.decision->reason;
  } else {
    shown["problem"] = one.instead.problem;
  }
  return shown;
}

void print_text(const Swapped& one) {
  const auto& record = *one.record;
  if (one.is_same) return;
  write_line(fmt::format("epoch {}: {} decided {}", record.observation.current_epoch, record.policy,
                         leyline::summary(record.answer.decision)));
  const auto& [decision, problem, difference] = one.instead;
  write_line(decision ? fmt::format("  instead {}: {}", leyline::summary(*decision), decision->reason)
                      : fmt::format("  instead it fails: {}", problem));
}

}  // namespace

int run(const SwapRequest& request) {
  const auto log = history::read_decision_log(request.run_dir);
  if (log.entries.empty()) {
    throw base::Error(base::ExitCode::kData, fmt::format("run {} has no decisions yet", request.run_dir));
  }
  const auto other = make_other(request, log);
  const auto all = swap(log, *other);
  const auto same = static_cast<std::size_t>(std::ranges::count_if(all, &Swapped::is_same));
  const std::string name =
      request.policy_file.empty() ? std::string(base::name_of(request.policy)) : request.policy_file;
  if (request.json) {
    auto decisions = ordered_json::array();
    for (const auto& one : all) decisions.push_back(json_of(one));
    base::write_json({{"run_dir", request.run_dir},
                      {"policy", name},
                      {"decisions", std::move(decisions)},
                      {"same", same},
                      {"different", all.size() - same},
                      {"gaps", log.gaps}});
    return 0;
  }
  for (const auto& one : all) print_text(one);
  for (const auto& gap : log.gaps) write_line("note: " + gap);
  write_line(
      fmt::format("{} would have decided differently in {} of {} decisions", name, all.size() - same, all.size()));
  return 0;
}

}  // namespace esper::engine
