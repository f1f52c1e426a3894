// A receipt for people and for programs.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "leyline/names.h"
#include "nissa/receipt.h"

namespace esper::nissa {
namespace {

using leyline::GrowthNote;
using nlohmann::ordered_json;

constexpr const char* kNotMeasured = "not measured";

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string row(const std::string& name, const std::string& value) {
  constexpr std::size_t kWidth = 22;
  return "  " + name + std::string(name.size() < kWidth ? kWidth - name.size() : 1, ' ') + value + "\n";
}

std::string or_not(std::optional<double> value, const char* format) {
  return value ? formatted(format, *value) : kNotMeasured;
}

const char* word_of(Receipt::Outcome outcome) {
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

std::string step_text(const StepCost& step) {
  if (!step.before_ms && !step.after_ms) return kNotMeasured;
  const auto side = [](std::optional<double> ms, std::size_t epochs) {
    return ms ? formatted("%.4g ms (%zu epochs)", *ms, epochs) : std::string(kNotMeasured);
  };
  std::string text =
      side(step.before_ms, step.epochs_before) + " before, " + side(step.after_ms, step.epochs_after) + " after";
  if (step.before_ms && step.after_ms) text += formatted(": %+.3g ms", *step.after_ms - *step.before_ms);
  return text;
}

std::string points_text(std::optional<double> points, const std::optional<leyline::Interval>& interval) {
  if (!points) return kNotMeasured;
  std::string text = formatted("%+.2f points", *points);
  if (interval) text += formatted(", 95 %% interval %+.2f to %+.2f", interval->low, interval->high);
  return text;
}

std::string contribution_text(const Contribution& contribution) {
  const std::string text = points_text(contribution.points, contribution.interval);
  if (!contribution.points) return text;
  const auto times = contribution.measurements;
  return text + (times == 1 ? ", measured once" : formatted(", the last of %zu measurements", times));
}

std::string conflicts_text(const Receipt& receipt) {
  if (!receipt.conflicts) return kNotMeasured;
  return formatted("%.0f", *receipt.conflicts) +
         (receipt.conflict_ratio ? formatted(", %.3g of the compared pairs an epoch", *receipt.conflict_ratio) : "");
}

std::string stages_text(const Receipt& receipt) {
  std::string text;
  for (const auto& [stage, epochs] : receipt.stages) {
    text += (text.empty() ? "" : ", ") + std::string(leyline::name_of(stage)) + " " + std::to_string(epochs);
  }
  return text;
}

std::string line_of(const GrowthNote& note) {
  const auto& event = *note.event;
  const auto move = std::string(leyline::name_of(event.from)) + " -> " + std::string(leyline::name_of(event.to));
  if (note.what == "gate")
    return event.code + (event.passed.value_or(false) ? " passed: " : " not passed: ") + event.reason;
  if (note.what == "command_rejected") return "refused (" + event.code + "): " + event.reason;
  if (note.what == "stage") {
    // A gate has said why already.
    const bool gated = !event.command_id.empty() && event.from != event.to && leyline::has_module(event.to);
    return (event.from == event.to ? std::string(leyline::name_of(event.from)) : move) +
           (gated ? "" : ": " + event.reason);
  }
  return note.what + (event.reason.empty() ? "" : ": " + event.reason);
}

// A gate's failure says what the refusal after it says again.
bool says_nothing_new(const GrowthNote& note) {
  return note.what == "cull" || (note.what == "command_rejected" && note.event->code == "gate_failed");
}

bool is_failure(const GrowthNote& note) { return note.what == "gate" && !note.event->passed.value_or(false); }

bool repeats(const GrowthNote& note, const GrowthNote* last) {
  return last != nullptr && is_failure(note) && is_failure(*last) && note.event->code == last->event->code;
}

// Of tries that failed at the same gate one after the other, the last is told.
std::string story_text(const Receipt& receipt) {
  std::vector<std::pair<const GrowthNote*, int>> told;
  for (const auto& note : receipt.story) {
    if (says_nothing_new(note)) continue;
    const bool again = !told.empty() && repeats(note, told.back().first);
    if (again) {
      told.back() = {&note, told.back().second + 1};
    } else {
      told.emplace_back(&note, 1);
    }
  }
  std::string text, last_head, last_decision;
  for (const auto& [note, times] : told) {
    const std::string head =
        formatted("epoch %u, step %lld", note->place.epoch, static_cast<long long>(note->place.step));
    if (head != last_head) {
      text += "  " + head + "\n";
      last_decision.clear();
    }
    if (!note->event->decision.empty() && note->event->decision != last_decision)
      text += "    asked to " + note->event->decision + "\n";
    text += "    " + line_of(*note) + (times > 1 ? " (try " + std::to_string(times) + ")" : "") + "\n";
    last_head = head;
    last_decision = note->event->decision;
  }
  return text;
}

ordered_json or_null(std::optional<double> value) { return value ? ordered_json(*value) : ordered_json(nullptr); }

ordered_json points_json(std::optional<double> points, const std::optional<leyline::Interval>& interval,
                         const ordered_json& more) {
  ordered_json result = {{"points", or_null(points)},
                         {"low", or_null(interval ? std::optional(interval->low) : std::nullopt)},
                         {"high", or_null(interval ? std::optional(interval->high) : std::nullopt)}};
  result.update(more);
  return result;
}

ordered_json place_json(const leyline::RunPlace& place) { return {{"epoch", place.epoch}, {"step", place.step}}; }

ordered_json story_json(const Receipt& receipt) {
  ordered_json story = ordered_json::array();
  for (const auto& note : receipt.story) story.push_back(ordered_json(leyline::growth_note_json(note)));
  return story;
}

std::optional<double> difference(const StepCost& step) {
  if (!step.before_ms || !step.after_ms) return std::nullopt;
  return *step.after_ms - *step.before_ms;
}

}  // namespace

std::string receipt_text(const Receipt& receipt) {
  constexpr double kBytesInMb = 1e6;
  std::string text =
      receipt.seed_id + ", " + receipt.blueprint + " at " + receipt.slot + ": " + word_of(receipt.outcome);
  if (receipt.ended) {
    text += formatted(" at epoch %u, step %lld", receipt.ended->epoch, static_cast<long long>(receipt.ended->step));
  }
  text += "\n" + row("why", receipt.reason) + row("parameters", or_not(receipt.parameters, "%.0f"));
  const std::string memory =
      receipt.memory_bytes ? formatted("%.4g MB", *receipt.memory_bytes / kBytesInMb) : std::string(kNotMeasured);
  text += row("memory", memory) + row("time of a step", step_text(receipt.step)) +
          row("stall at the graft", or_not(receipt.graft_stall_ms, "%.3g ms"));
  if (receipt.outcome == Receipt::Outcome::kCulled) {
    text += row("stall at the cull", or_not(receipt.cull_stall_ms, "%.3g ms"));
  }
  text +=
      row("contribution", contribution_text(receipt.contribution)) +
      row("Shapley value", points_text(receipt.contribution.shapley_points, receipt.contribution.shapley_interval)) +
      row("conflicts", conflicts_text(receipt)) +
      row("isolation violations", or_not(receipt.isolation_violations, "%.0f")) +
      row("epochs in stages", stages_text(receipt)) + "its life\n" + story_text(receipt);
  for (const auto& gap : receipt.gaps) text += "note: " + gap + "\n";
  return text;
}

ordered_json receipt_json(const std::string& run, const Receipt& receipt) {
  ordered_json stages = ordered_json::object();
  for (const auto& [stage, epochs] : receipt.stages) stages[std::string(leyline::name_of(stage))] = epochs;
  const Contribution& worth = receipt.contribution;
  return {{"run_dir", run},
          {"seed", receipt.seed_id},
          {"slot", receipt.slot},
          {"blueprint", receipt.blueprint},
          {"outcome", word_of(receipt.outcome)},
          {"reason", receipt.reason},
          {"born", place_json(receipt.born)},
          {"ended", receipt.ended ? place_json(*receipt.ended) : ordered_json(nullptr)},
          {"parameters", or_null(receipt.parameters)},
          {"memory_bytes", or_null(receipt.memory_bytes)},
          {"step_ms",
           {{"before", or_null(receipt.step.before_ms)},
            {"after", or_null(receipt.step.after_ms)},
            {"difference", or_null(difference(receipt.step))},
            {"epochs_before", receipt.step.epochs_before},
            {"epochs_after", receipt.step.epochs_after}}},
          {"stall_ms", {{"graft", or_null(receipt.graft_stall_ms)}, {"cull", or_null(receipt.cull_stall_ms)}}},
          {"contribution", points_json(worth.points, worth.interval, {{"measurements", worth.measurements}})},
          {"shapley", points_json(worth.shapley_points, worth.shapley_interval, ordered_json::object())},
          {"conflicts", or_null(receipt.conflicts)},
          {"conflict_ratio", or_null(receipt.conflict_ratio)},
          {"isolation_violations", or_null(receipt.isolation_violations)},
          {"epochs_in_stages", std::move(stages)},
          {"events", story_json(receipt)},
          {"gaps", receipt.gaps}};
}

}  // namespace esper::nissa
