// A receipt for users.

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/printable.h"
#include "history/receipt/receipt.h"

namespace esper::history {
namespace {

using base::joined;
using base::printable_line;

constexpr const char* kNotMeasured = "not measured";

std::string row(const std::string& name, const std::string& value) {
  constexpr std::size_t kWidth = 28;
  return fmt::format("  {}{}{}\n", name, std::string(name.size() < kWidth ? kWidth - name.size() : 1, ' '),
                     printable_line(value));
}

std::string or_not(std::optional<double> value, fmt::format_string<const double&> format) {
  return value ? fmt::format(format, std::as_const(*value)) : kNotMeasured;
}

std::string step_text(const StepCost& step) {
  if (!step.before_ms && !step.after_ms) return kNotMeasured;
  const auto side = [](std::optional<double> ms, std::size_t epochs) {
    return ms ? fmt::format("{:.4g} ms ({} epoch{})", *ms, epochs, epochs == 1 ? "" : "s") : std::string(kNotMeasured);
  };
  std::string text =
      side(step.before_ms, step.epochs_before) + " before, " + side(step.after_ms, step.epochs_after) + " after";
  if (step.before_ms && step.after_ms) text += fmt::format(": {:+.3g} ms", *step.after_ms - *step.before_ms);
  return text;
}

std::string points_text(std::optional<double> points, const std::optional<base::Interval>& interval) {
  if (!points) return kNotMeasured;
  std::string text = fmt::format("{:+.2f} points", *points);
  if (interval) text += fmt::format(", 95 % interval {:+.2f} to {:+.2f}", interval->low, interval->high);
  return text;
}

std::string worth_text(const Worth& worth) {
  if (!worth.loss) return kNotMeasured;
  std::string text = fmt::format("{:+.4g} in validation loss", *worth.loss);
  if (worth.loss_interval) {
    text += fmt::format(", 95 % interval {:+.4g} to {:+.4g}", worth.loss_interval->low, worth.loss_interval->high);
  }
  text += "; " + points_text(worth.points, worth.points_interval);
  return text + (worth.epochs ? fmt::format("; {:.0f} epoch{} compared", *worth.epochs, *worth.epochs == 1 ? "" : "s")
                              : std::string());
}

std::string contribution_text(const Contribution& contribution) {
  const std::string text = points_text(contribution.points, contribution.interval);
  if (!contribution.points) return text;
  const auto times = contribution.measurements;
  return text + (times == 1 ? ", measured once" : fmt::format(", the last of {} measurements", times));
}

std::string shapley_text(const Contribution& contribution) {
  const std::string text = points_text(contribution.shapley_points, contribution.shapley_interval);
  if (contribution.shapley_points || !contribution.configurations_needed) return text;
  return text + fmt::format(": growth.counterfactual.max_configurations must be >= {:.0f} for so many seeds",
                            *contribution.configurations_needed);
}

std::string conflicts_text(const Receipt& receipt) {
  if (!receipt.conflicts) return kNotMeasured;
  return fmt::format("{:.0f}", *receipt.conflicts) +
         (receipt.conflict_ratio ? fmt::format(", {:.3g} of the compared pairs an epoch", *receipt.conflict_ratio)
                                 : "");
}

std::string stages_text(const Receipt& receipt) {
  return joined(receipt.stages, ", ", [](const auto& time) {
    return fmt::format("{} {}", base::name_of(time.stage), time.epochs ? std::to_string(*time.epochs) : "?");
  });
}

std::string forks_text(const Receipt& receipt) {
  std::string text;
  for (auto it = receipt.ancestors.rbegin(); it != receipt.ancestors.rend(); ++it) {
    text += (text.empty() ? ", forked at " : ", and again at ") + place_text(it->until);
  }
  return text;
}

std::string origin_text(const Receipt& receipt) {
  switch (receipt.origin) {
    case Receipt::Origin::kHost:
      return "host.modules: built into the host, nothing was grafted";
    case Receipt::Origin::kParent:
      return (receipt.ancestors.empty() ? std::string("the run before the fork") : receipt.ancestors.back().run) +
             ", which cannot be read" + forks_text(receipt);
    case Receipt::Origin::kUnknown:
      return "unknown: records are missing";
    case Receipt::Origin::kGerminated:
      break;
  }
  std::string text = "germinated at " + place_text(*receipt.born);
  if (!receipt.ancestors.empty()) text += " of " + receipt.ancestors.back().run;
  return text + forks_text(receipt);
}

std::string swap_text(const Receipt& receipt) {
  if (receipt.origin == Receipt::Origin::kHost) return "nothing was grafted";
  if (!receipt.swap) return kNotMeasured;
  const StructureSwap& swap = *receipt.swap;
  return (swap.prepared ? fmt::format("prepared in the background before the graft in {:.4g} ms", swap.prepare_ms)
                        : std::string("not prepared before the graft")) +
         fmt::format("; activated in {:.4g} us (lane {}); longest stall of a step after it: {:.3g} ms", swap.swap_us,
                     swap.lane, swap.stall_ms);
}

constexpr std::size_t kRewardsShown = 8;

std::string reward_text(const SeedReward& reward) {
  if (!reward.total) return reward.missing;
  std::string text =
      fmt::format("{:+.3f} over {} epoch{}", *reward.total, reward.epochs.size(), reward.epochs.size() == 1 ? "" : "s");
  const std::size_t from = reward.epochs.size() - std::min(reward.epochs.size(), kRewardsShown);
  text += from > 0 ? fmt::format(", the last {}: ", kRewardsShown) : ": ";
  text += joined(std::span(reward.epochs).subspan(from), ", ",
                 [](const auto& epoch) { return fmt::format("{:+.3f} at {}", epoch.reward, epoch.epoch); });
  return text + (reward.missing.empty() ? "" : "; " + reward.missing);
}

std::string line_of(const GrowthRecord& record) {
  const auto& event = *record.event;
  const auto move = std::string(base::name_of(event.from)) + " -> " + std::string(base::name_of(event.to));
  if (record.what == "gate")
    return event.code + (event.passed.value_or(false) ? " passed: " : " not passed: ") + event.reason;
  if (record.what == "command_rejected") return "rejected (" + event.code + "): " + event.reason;
  if (record.what == "stage") {
    // A gate's reason is printed already.
    const bool gated = !event.command_id.empty() && event.from != event.to && leyline::has_module(event.to);
    return (event.from == event.to ? std::string(base::name_of(event.from)) : move) +
           (gated ? "" : ": " + event.reason);
  }
  return record.what + (event.reason.empty() ? "" : ": " + event.reason);
}

// A gate's failure says what the refusal after it says again.
bool is_redundant(const GrowthRecord& record) {
  return record.what == "cull" || (record.what == "command_rejected" && record.event->code == "gate_failed");
}

bool is_failure(const GrowthRecord& record) { return record.what == "gate" && !record.event->passed.value_or(false); }

bool repeats(const GrowthRecord& record, const GrowthRecord* last) {
  return last != nullptr && is_failure(record) && is_failure(*last) && record.event->code == last->event->code;
}

// Of tries that failed at the same gate one after the other, only the last is shown.
std::string timeline_text(const Receipt& receipt) {
  std::vector<std::pair<const GrowthRecord*, int>> reported;
  for (const auto& record : receipt.timeline) {
    if (is_redundant(record)) continue;
    const bool again = !reported.empty() && repeats(record, reported.back().first);
    if (again) {
      reported.back() = {&record, reported.back().second + 1};
    } else {
      reported.emplace_back(&record, 1);
    }
  }
  std::string text, last_head, last_decision;
  for (const auto& [record, times] : reported) {
    const std::string head = fmt::format("epoch {}, step {}", record->place.epoch, record->place.step);
    if (head != last_head) {
      text += "  " + head + "\n";
      last_decision.clear();
    }
    if (!record->event->decision.empty() && record->event->decision != last_decision)
      text += "    command " + printable_line(record->event->decision) + "\n";
    text += "    " + printable_line(line_of(*record)) + (times > 1 ? fmt::format(" (try {})", times) : "") + "\n";
    last_head = head;
    last_decision = record->event->decision;
  }
  return text;
}

}  // namespace

const char* label_of(Receipt::Outcome outcome) {
  switch (outcome) {
    case Receipt::Outcome::kFossilized:
      return "fossilised";
    case Receipt::Outcome::kCulled:
      return "culled";
    case Receipt::Outcome::kGrowing:
      break;
  }
  return "still growing";
}

std::string receipt_text(const Receipt& receipt) {
  constexpr double kBytesInMb = 1e6;
  std::string text = printable_line(receipt.seed_id + ", " + receipt.blueprint + " at " + receipt.slot) + ": " +
                     label_of(receipt.outcome);
  if (receipt.ended) {
    text += fmt::format(" at epoch {}, step {}", receipt.ended->epoch, receipt.ended->step);
  }
  if (!receipt.doubt.empty()) text += fmt::format("\n! {}", printable_line(receipt.doubt));
  text += '\n';
  text += row("origin", origin_text(receipt)) + row("reason", receipt.reason) +
          (receipt.folded.empty() ? "" : row("folded into", receipt.folded)) +
          row("parameters", or_not(receipt.parameters, "{:.0f}"));
  const std::string memory =
      receipt.memory_bytes ? fmt::format("{:.4g} MB", *receipt.memory_bytes / kBytesInMb) : std::string(kNotMeasured);
  text += row("memory", memory) + row("step time", step_text(receipt.step)) +
          row("stall at the graft", or_not(receipt.graft_stall_ms, "{:.3g} ms")) +
          row("step preparation", swap_text(receipt));
  if (receipt.outcome == Receipt::Outcome::kCulled) {
    text += row("stall at the cull", or_not(receipt.cull_stall_ms, "{:.3g} ms"));
  }
  text += row("worth against a control", worth_text(receipt.worth)) +
          row("drop when switched off now", contribution_text(receipt.contribution)) +
          row("Shapley value", shapley_text(receipt.contribution)) +
          (receipt.reward ? row("reward", reward_text(*receipt.reward)) : "") +
          row("conflicts", conflicts_text(receipt)) +
          row("isolation violations", or_not(receipt.isolation_violations, "{:.0f}")) +
          row("epochs in stages", stages_text(receipt)) + "timeline\n" + timeline_text(receipt);
  for (const auto& gap : receipt.gaps) text += "note: " + printable_line(gap) + "\n";
  return text;
}

}  // namespace esper::history
