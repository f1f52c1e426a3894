// `esper policy replay`: makes every logged decision again, and says which are not the same, bit for bit.

#include "tamiyo/service/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/standard_output.h"
#include "engine/commands.h"
#include "engine/policy/logged_policies.h"
#include "history/growth/decision_log.h"
#include "tamiyo/service/service_settings.h"

namespace esper::engine {
namespace {

using base::write_line;
using history::DecisionEntry;
using history::DecisionLog;
using nlohmann::ordered_json;

struct Difference {
  std::uint32_t epoch = 0;
  std::size_t line = 0;
  std::string policy, what, where;  // what: "decision", "state", "service", "shadow"
};

struct ReplayReport {
  std::size_t same = 0, unanswered = 0;  // unanswered: late or failed then, so there is nothing to make again
  std::vector<Difference> differences;
};

// Whether a policy that is asked `every` so many epochs or steps was not asked between these two.
bool is_next_question(const leyline::Observation& own, const leyline::Observation& next, const base::Length& every) {
  const std::int64_t epoch = own.current_epoch, until = next.current_epoch;
  const bool by_epochs = every.unit == base::Length::Unit::kEpochs;
  const auto unit = by_epochs ? 1 : static_cast<std::int64_t>(own.global_step) / std::max<std::int64_t>(epoch, 1);
  return until > epoch && (until - 1) * unit / every.count == epoch * unit / every.count;
}

// Of the decision after it in the same process: how it went on from here.
const std::string* state_after(const DecisionLog& log, std::size_t index, const base::Length& every) {
  if (index + 1 >= log.entries.size()) return nullptr;
  const auto& [record, process, line] = log.entries[index + 1];
  const auto& own = log.entries[index];
  const bool follows = process == own.process && record.policy == own.record.policy &&
                       is_next_question(own.record.observation, record.observation, every);
  return follows ? &record.state : nullptr;
}

class Replay {
 public:
  Replay(const DecisionLog& log, bool trust_program) : log_(log), policies_(log, trust_program) {}

  ReplayReport run() {
    for (std::size_t i = 0; i < log_.entries.size(); ++i) replay(i);
    return std::move(report_);
  }

 private:
  void replay(std::size_t index) {
    const auto& entry = log_.entries[index];
    const auto& record = entry.record;
    const auto found = report_.differences.size();
    auto& controller = policies_.controller(entry.process, record.policy);
    const auto made = tamiyo::replay(record.observation, record.state, record.answer, controller);
    if (!made.decision && made.difference.empty()) ++report_.unanswered;
    add(entry, record.policy, "decision", made.difference);
    const auto& config = policies_.config_of(entry.process);
    if (const auto* after = state_after(log_, index, config.policy.every);
        after != nullptr && made.decision && *after != controller.save_state()) {
      add(entry, record.policy, "state", "its state afterwards would differ");
    }
    const auto settings = tamiyo::service_settings(config.policy, config.safety.policy_deadline);
    add(entry, record.policy, "service", tamiyo::service_difference(record, settings).value_or(""));
    for (const auto& [kind, state, answer] : record.shadows) {
      auto& shadow = policies_.controller(entry.process, kind);
      add(entry, kind, "shadow", tamiyo::replay(record.observation, state, answer, shadow).difference);
    }
    if (found == report_.differences.size() && made.decision) ++report_.same;
  }

  void add(const DecisionEntry& entry, const std::string& policy, const char* what, const std::string& where) {
    if (where.empty()) return;
    report_.differences.push_back({entry.record.observation.current_epoch, entry.line, policy, what, where});
  }

  const DecisionLog& log_;
  LoggedPolicies policies_;
  ReplayReport report_;
};

ordered_json json_of(const ReplayRequest& request, const DecisionLog& log, const ReplayReport& report) {
  auto differences = ordered_json::array();
  for (const auto& [epoch, line, policy, what, where] : report.differences) {
    differences.push_back({{"epoch", epoch}, {"line", line}, {"policy", policy}, {"what", what}, {"where", where}});
  }
  return {{"run_dir", request.run_dir},      {"decisions", log.entries.size()},       {"same", report.same},
          {"unanswered", report.unanswered}, {"differences", std::move(differences)}, {"gaps", log.gaps}};
}

void print_text(const DecisionLog& log, const ReplayReport& report) {
  for (const auto& [epoch, line, policy, what, where] : report.differences) {
    write_line(fmt::format("epoch {} (line {}), {} of {}: {}", epoch, line, what, policy, where));
  }
  for (const auto& gap : log.gaps) write_line("note: " + gap);
  write_line(fmt::format("{} of {} decisions are reproduced bit for bit{}", report.same, log.entries.size(),
                         report.unanswered == 0 ? "" : fmt::format("; {} had no answer", report.unanswered)));
}

}  // namespace

int run(const ReplayRequest& request) {
  const auto log = history::read_decision_log(request.run_dir);
  history::require_decisions(log, request.run_dir);
  const auto report = Replay(log, request.trust_program).run();
  request.json ? base::write_json(json_of(request, log, report)) : print_text(log, report);
  return report.differences.empty() && log.damaged == 0 ? 0 : kDiffers;
}

}  // namespace esper::engine
