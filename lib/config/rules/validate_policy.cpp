// The rules of the policy and of its schedule.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text/joined.h"
#include "base/text/printable.h"
#include "config/facts/slot_geometry.h"
#include "config/rules/rules.h"
#include "leyline/blueprint/blueprint_name.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::config {

using base::in_quotes;
using base::joined;

namespace {

bool leaves_out(const std::vector<std::string>& allowed, const std::string& name) {
  return !allowed.empty() && std::ranges::find(allowed, name) == allowed.end();
}

bool must_be_named(const std::string& blueprint) {
  return std::ranges::any_of(leyline::blueprint_table(), [&](const leyline::BlueprintFacts& facts) {
    return facts.name == blueprint && leyline::must_be_named(facts);
  });
}

bool is_built_in(const HostConfig& host, const std::string& slot) {
  return std::ranges::any_of(host.modules, [&](const auto& module) { return module && module->slot == slot; });
}

void check_allowed(const ScheduledGermination& line, const std::string& path, const RunConfig& config, Findings& out) {
  const auto& growth = config.growth;
  if (!may_grow_at(growth.slots, line.slot)) {
    out.push_back({path,
                   fmt::format("growth.slots has {} and not {}; add it there", joined(growth.slots), line.slot),
                   {"growth.slots"}});
  }
  const std::string name(leyline::without_copies(line.blueprint));
  if (leaves_out(growth.blueprints, name)) {
    out.push_back(
        {path,
         fmt::format("growth.blueprints has {} and not {}; add it there", joined(growth.blueprints), in_quotes(name)),
         {"growth.blueprints"}});
  } else if (growth.blueprints.empty() && must_be_named(name)) {
    out.push_back({path,
                   fmt::format("{} is grown only where growth.blueprints lists it, and all others that may grow; set "
                               "growth.blueprints: [{}]",
                               in_quotes(name), name),
                   {"growth.blueprints"}});
  }
  if (is_built_in(config.host, line.slot)) {
    out.push_back({path,
                   fmt::format("host.modules has a module at {} from the start; name another slot, or remove it there",
                               line.slot),
                   {"host.modules"}});
  }
}

}  // namespace

void BreakerConfig::validate(Findings& out) const {
  if (open_time <= base::Duration(0)) out.push_back({"open_time", "must be > 0", {}});
}

void RiskConfig::validate(Findings& out) const {
  const auto check = [&](double mild, const char* path, double grave, const char* above) {
    if (mild > grave) out.push_back({path, fmt::format("must not exceed policy.risk.{}, {}", above, grave), {above}});
  };
  check(elevated_risk, "elevated_risk", critical_risk, "critical_risk");
  check(loss_warning, "loss_warning", loss_spike, "loss_spike");
  check(critical_coverage, "critical_coverage", low_coverage, "low_coverage");
}

namespace {

void check_ensemble(const PolicyConfig& policy, Findings& out) {
  if (policy.kind == PolicyKind::kEnsemble && policy.ensemble.empty()) {
    out.push_back({"ensemble", "is empty, but kind ensemble needs policies, like [heuristic, gnn]", {"kind"}});
  }
  for (std::size_t i = 0; i < policy.ensemble.size(); ++i) {
    const auto& member = policy.ensemble[i];
    const std::string path = fmt::format("ensemble[{}]", i);
    if (!member) {
      out.push_back({path, member.problem(), {}});
    } else if (std::ranges::find(policy.ensemble.begin(), policy.ensemble.begin() + static_cast<std::ptrdiff_t>(i),
                                 member.text(), &Entry<EnsembleMember>::text) !=
               policy.ensemble.begin() + static_cast<std::ptrdiff_t>(i)) {
      out.push_back({path, fmt::format("{} is listed already; list each policy once", member.text()), {}});
    }
  }
}

void check_host(const PolicyConfig& policy, Findings& out) {
  if (policy.host == PolicyHost::kThread || !policy.asks(PolicyKind::kGnn)) return;
  if (policy.gnn.compile) {
    out.push_back({"gnn.compile", "needs policy.host: thread; set that, or turn it off", {"host"}});
  }
  if (policy.gnn.device == NetworkDevice::kRun) {
    out.push_back({"gnn.device", "run needs policy.host: thread; set that, or use cpu", {"host"}});
  }
}

void check_bf16(const PolicyConfig& policy, Findings& out) {
  if (!policy.gnn.bf16 || !policy.gnn.compile || !policy.asks(PolicyKind::kGnn)) return;
  out.push_back({"gnn.bf16", "the network in bf16 is not compiled; turn gnn.compile or this off", {"gnn", "compile"}});
}

void check_command(const PolicyConfig& policy, Findings& out) {
  if (!policy.asks(PolicyKind::kProcess)) return;
  if (policy.command.empty()) {
    out.push_back(
        {"command", "is empty, but kind process needs a program, like [python3, controller.py]", {"kind", "ensemble"}});
  } else if (policy.command.front().empty()) {
    out.push_back({"command[0]", "must name a program", {}});
  }
}

}  // namespace

void PolicyConfig::validate(Findings& out) const {
  check_ensemble(*this, out);
  if (every.count < 1) {
    out.push_back({"every", "must be at least 1; for a run without a policy set policy.kind: none", {}});
  }
  check_command(*this, out);
  check_host(*this, out);
  check_bf16(*this, out);
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (!schedule[i]) out.push_back({fmt::format("schedule[{}]", i), schedule[i].problem(), {}});
  }
}

namespace {

// The epoch at whose end what is due after `epoch` is carried out. A number of steps is taken for one epoch.
std::int64_t carried_out_after(std::int64_t epoch, const RunConfig& config) {
  const auto& [count, unit] = config.policy.every;
  if (unit == base::Length::Unit::kEpochs && count > 0) epoch = (epoch + count - 1) / count * count;
  return config.policy.overlap == PolicyOverlap::kOn ? epoch + 1 : epoch;
}

}  // namespace

void check_schedule(const RunConfig& config, Findings& out) {
  const bool is_needed = config.policy.asks(PolicyKind::kSchedule) && config.growth.kind == GrowthKind::kModules;
  if (is_needed && config.policy.schedule.empty()) {
    out.push_back({"policy.schedule",
                   "is empty, but kind schedule needs lines like 2:r0c2=conv_light",
                   {"policy.kind", "policy.ensemble", "growth.kind"}});
  }
  std::map<std::pair<int, std::string>, std::string> seen;  // by epoch and slot
  for (std::size_t i = 0; i < config.policy.schedule.size(); ++i) {
    const auto& line = config.policy.schedule[i];
    if (!line) continue;
    const std::string path = fmt::format("policy.schedule[{}]", i);
    const int epoch = line->due_epoch(config.epochs);
    if (epoch > config.epochs) {
      out.push_back({path,
                     fmt::format("the run ends with epoch {}, before epoch {}; raise epochs, or grow earlier",
                                 config.epochs, epoch),
                     {"epochs"}});
    } else if (const auto done = carried_out_after(epoch, config); done >= config.epochs) {
      out.push_back({path,
                     fmt::format("nothing is grown after the run's last epoch, {}{}; raise epochs, or grow earlier",
                                 config.epochs,
                                 done == epoch ? "" : ", which is when policy.every and policy.overlap would do it"),
                     {"epochs", "policy.every", "policy.overlap"}});
    }
    const auto [other, is_new] = seen.emplace(std::pair{epoch, line->slot}, line.text());
    if (!is_new) {
      out.push_back({path,
                     fmt::format("{} names {} after epoch {} already", in_quotes(other->second), line->slot, epoch),
                     {"epochs"}});
    }
    check_allowed(*line, path, config, out);
  }
}

}  // namespace esper::config
