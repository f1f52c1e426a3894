#include "tamiyo/service/rules_document.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

#include "base/names.h"
#include "tamiyo/decision/action_table.h"
#include "tamiyo/service/risk.h"

namespace esper::tamiyo {
namespace {

// Rules of the system before this one that nothing here can set off.
struct AbsentRule {
  std::string_view name, why;
};
constexpr std::array kAbsentRules{
    AbsentRule{"blueprint_risk, bp_quarantine",
               "the catalogue has no classes of risk, and nothing in it is quarantined"},
    AbsentRule{"bsds_*", "the catalogue has no hazard classes"},
    AbsentRule{"kasmina_finalize_slow",
               "a command is carried out or rejected as a whole; no separate step finalizes it"},
    AbsentRule{"timeout_urza", "the catalogue is part of the program; there is no request that could time out"},
    AbsentRule{"optimizer_adjust",
               "the run file fixes the optimizer; where the earlier system adjusted it instead of growing, the growth "
               "is held back"},
};

std::string change_text(Change change) {
  switch (change) {
    case Change::kHoldGrowth:
      return "GERMINATE is held back";
    case Change::kPause:
      return "all commands are held back";
    default:
      return "-";
  }
}

std::string condition_text(const RiskRule& rule) {
  const double threshold = rule.threshold == nullptr ? 0 : RiskThresholds().*rule.threshold;
  return fmt::format(fmt::runtime(rule.condition), threshold);
}

}  // namespace

std::string rules_markdown() {
  std::string out =
      "# Rules of the policy service\n\n"
      "Generated from `lib/tamiyo/decision/action_table.h` and `lib/tamiyo/service/risk.cpp`.\n\n"
      "## Actions\n\nWhat the network's policy logits stand for. Further logits are unused, and always masked.\n\n"
      "| logit | action | does | possible when |\n| --- | --- | --- | --- |\n";
  for (const auto& row : kActionTable) {
    out += fmt::format("| {} | {} | {} | {} |\n", static_cast<int>(row.action), row.name, row.meaning, row.possible);
  }
  out +=
      "\n## Risk\n\nA decision is judged by these rules in order, with their default thresholds. The strongest change "
      "is "
      "made; its first rule is the command's `risk_reason` (`policy` where nothing is changed). Each rule sees the "
      "decision without what earlier rules held back. A value that was not measured triggers no rule.\n\n"
      "| rule | when | change | level | conservative mode |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& rule : risk_rules()) {
    const auto& verdict = rule.verdict;
    out += fmt::format("| {} | {} | {} | {} | {} |\n", rule.reason, condition_text(rule), change_text(verdict.change),
                       base::name_of(verdict.level), verdict.mode == ModeAfter::kConservative ? "entered" : "-");
  }
  out += "\nDo not apply:\n\n| rule | why |\n| --- | --- |\n";
  for (const auto& [name, why] : kAbsentRules) out += fmt::format("| {} | {} |\n", name, why);
  return out;
}

}  // namespace esper::tamiyo
