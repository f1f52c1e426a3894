// `esper policy compare`: where the policies of an ensemble would have decided otherwise than the one that decided.
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "esper/front.h"
#include "esper/run_options.h"
#include "history/growth/decision_log.h"
#include "leyline/command_summary.h"

namespace esper {
namespace {

using history::DecisionLog;
using leyline::AnswerRecord;
using leyline::DecisionRecord;
using nlohmann::ordered_json;

struct CompareOptions {
  std::string run;
  bool json = false;
};

enum class Agreement { kSame, kOtherwise, kNoAnswer };

struct Tally {
  std::size_t same = 0, otherwise = 0, no_answer = 0;

  void count(Agreement agreement) {
    ++(agreement == Agreement::kSame ? same : agreement == Agreement::kOtherwise ? otherwise : no_answer);
  }
};

bool decided(const AnswerRecord& answer) { return answer.outcome == "decided"; }

Agreement agreement_of(const DecisionRecord& record, const AnswerRecord& shadow) {
  if (!decided(shadow) || !decided(record.answer)) return Agreement::kNoAnswer;
  return command_names(shadow.decision) == command_names(record.answer.decision) ? Agreement::kSame
                                                                                 : Agreement::kOtherwise;
}

std::string answer_text(const AnswerRecord& answer) {
  return decided(answer) ? leyline::summary(answer.decision)
                         : fmt::format("no answer ({}): {}", answer.outcome, answer.problem);
}

ordered_json answer_json(const AnswerRecord& answer) {
  return {{"outcome", answer.outcome},
          {"commands", command_names(answer.decision)},
          {"reason", decided(answer) ? answer.decision.reason : answer.problem},
          {"latency_ms", answer.latency_ms}};
}

ordered_json decision_json(const DecisionRecord& record) {
  auto shadows = ordered_json::array();
  for (const auto& shadow : record.shadows) {
    auto shown = answer_json(shadow.answer);
    shown["policy"] = shadow.policy;
    shown["same"] = agreement_of(record, shadow.answer) == Agreement::kSame;
    shadows.push_back(std::move(shown));
  }
  auto deciding = answer_json(record.answer);
  deciding["policy"] = record.policy;
  return {{"epoch", record.observation.current_epoch}, {"decided", std::move(deciding)}, {"shadows", shadows}};
}

void print_comparison(const DecisionRecord& record) {
  bool is_shown = false;
  for (const auto& shadow : record.shadows) {
    if (agreement_of(record, shadow.answer) == Agreement::kSame) continue;
    if (!std::exchange(is_shown, true)) {
      print_line(fmt::format("epoch {}: {} decided {}", record.observation.current_epoch, record.policy,
                             answer_text(record.answer)));
    }
    const std::string reason = decided(shadow.answer) ? ": " + shadow.answer.decision.reason : "";
    print_line(fmt::format("  {} {}{}", shadow.policy, answer_text(shadow.answer), reason));
  }
}

using Tallies = std::map<std::string, Tally>;  // by the shadow's kind

Tallies tallies_of(const DecisionLog& log) {
  Tallies tallies;
  for (const auto& entry : log.entries) {
    for (const auto& shadow : entry.record.shadows) {
      tallies[shadow.policy].count(agreement_of(entry.record, shadow.answer));
    }
  }
  return tallies;
}

void print_json_of(const CompareOptions& options, const DecisionLog& log, const Tallies& tallies) {
  auto decisions = ordered_json::array();
  for (const auto& entry : log.entries) decisions.push_back(decision_json(entry.record));
  auto policies = ordered_json::array();
  for (const auto& [policy, tally] : tallies) {
    policies.push_back(
        {{"policy", policy}, {"same", tally.same}, {"different", tally.otherwise}, {"no_answer", tally.no_answer}});
  }
  print_json({{"run_dir", options.run}, {"policies", policies}, {"decisions", decisions}, {"gaps", log.gaps}});
}

int compare(const CompareOptions& options) {
  const auto log = history::read_decision_log(options.run);
  history::require_decisions(log, options.run);
  const auto tallies = tallies_of(log);
  if (tallies.empty()) {
    throw base::Error(
        base::ExitCode::kData,
        fmt::format("run {} asked only one policy: set policy.kind=ensemble and policy.ensemble in its run file, or "
                    "compare another policy with its decisions now: esper policy swap {} --policy P",
                    options.run, options.run));
  }
  if (options.json) {
    print_json_of(options, log, tallies);
    return 0;
  }
  for (const auto& entry : log.entries) print_comparison(entry.record);
  for (const auto& gap : log.gaps) print_line("note: " + gap);
  for (const auto& [policy, tally] : tallies) {
    print_line(fmt::format("{}: the same in {} decisions, different in {}, no answer in {}", policy, tally.same,
                           tally.otherwise, tally.no_answer));
  }
  return 0;
}

}  // namespace

void add_policy_compare(CLI::App& policy, Front& front) {
  CLI::App* command =
      add_command(policy, "compare", "Show where the policies of an ensemble would have decided differently",
                  "esper policy compare runs/digits-20260301-120000");
  const auto options = std::make_shared<CompareOptions>();
  command->add_option("run", options->run, "Run folder of a finished, running or killed run")
      ->required()
      ->type_name("RUN");
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return compare(*options); }; });
}

}  // namespace esper
