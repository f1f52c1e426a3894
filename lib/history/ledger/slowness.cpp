#include "history/ledger/slowness.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/names.h"
#include "base/text/printable.h"
#include "history/ledger/time_shares.h"

namespace esper::history {
namespace {

using base::Owner;
using base::printable_line;
using nlohmann::ordered_json;

double percent_sum(const std::vector<TimeShare>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0.0,
                         [](double sum, const TimeShare& share) { return sum + share.percent; });
}

std::string shell_quoted(const std::string& text) {
  return text.find(' ') == std::string::npos ? text : "'" + text + "'";
}

std::string bar(double percent) {
  return std::string(static_cast<std::size_t>(std::clamp(percent, 0.0, 100.0) * 0.4 + 0.5), '#');
}

std::string covers_text(const RunLedger& ledger) {
  std::string text =
      fmt::format("covers     {} {}, {} {}", ledger.processes, ledger.processes == 1 ? "process" : "processes",
                  ledger.epochs, ledger.epochs == 1 ? "epoch" : "epochs");
  if (ledger.epochs_again > 0) text += fmt::format(", {} trained again", ledger.epochs_again);
  if (!ledger.status.empty()) text += "; " + printable_line(ledger.status);
  text += "\n";
  for (const auto& gap : ledger.gaps) text += "  but " + printable_line(gap) + "\n";
  return text;
}

}  // namespace

std::string slowness_text(const std::string& run, const RunLedger& ledger, const Advice& advice) {
  std::string text = "run        " + printable_line(run) + "\n" +
                     fmt::format("wall time  {:.3f} s\n", ledger.wall_ms / 1000) + covers_text(ledger) + "\n" +
                     fmt::format("{:<12} {:>14} {:>8}\n", "owner", "ms", "percent");
  const auto shares = time_shares(ledger);
  for (const TimeShare& share : shares) {
    text += fmt::format("{:<12} {:>14.3f} {:>7.2f}%", base::name_of(share.owner), share.ms, share.percent);
    const std::string length = bar(share.percent);
    text += (length.empty() ? "" : "  " + length) + "\n";
    for (const OwnerPart& it : kOwnerParts) {
      const double ms = ledger.of(it.part);
      if (it.whole != share.owner || ms <= 0) continue;
      text += fmt::format("  {:<10} {:>14.3f} {:>7.2f}%  of it\n", it.label, ms, 100 * ms / ledger.wall_ms);
    }
  }
  text += fmt::format("{:<12} {:>14.3f} {:>7.2f}%  of the wall time, within 0.5%\n", "sum",
                      percent_sum(shares) * ledger.wall_ms / 100, percent_sum(shares));
  if (ledger.step_p50_us) {
    const std::string p95 = ledger.step_p95_us ? fmt::format(", p95 {:.1f} us", *ledger.step_p95_us) : "";
    text += fmt::format("\nsteps      p50 {:.1f} us{} in the newest epoch\n", *ledger.step_p50_us, p95);
  }
  if (ledger.skipped_steps.value_or(0) > 0) {
    text += fmt::format("skipped    {} of {} steps changed nothing: their gradients overflow in fp16\n",
                        *ledger.skipped_steps, ledger.steps);
  }
  text += "\nadvice     " + advice.text + "\n";
  if (!advice.set.empty()) text += "           try --set " + shell_quoted(advice.set) + "\n";
  return text;
}

ordered_json slowness_json(const std::string& run, const RunLedger& ledger, const Advice& advice) {
  const auto shares = time_shares(ledger);
  ordered_json owners = ordered_json::array();
  for (const TimeShare& share : shares) {
    owners.push_back({{"owner", base::name_of(share.owner)}, {"ms", share.ms}, {"percent", share.percent}});
  }
  ordered_json step = nullptr;
  if (ledger.step_p50_us) {
    step = {{"p50_us", *ledger.step_p50_us},
            {"p95_us", ledger.step_p95_us ? ordered_json(*ledger.step_p95_us) : ordered_json()}};
  }
  return {{"run_dir", run},
          {"wall_ms", ledger.wall_ms},
          {"percent_sum", percent_sum(shares)},
          {"owners", std::move(owners)},
          {"start_up_ms", ledger.of(Owner::kStartUp)},
          {"control_ms", ledger.of(Owner::kControl)},
          {"step", std::move(step)},
          {"skipped_steps", ledger.skipped_steps ? ordered_json(*ledger.skipped_steps) : ordered_json()},
          {"steps", ledger.steps > 0 ? ordered_json(ledger.steps) : ordered_json()},
          {"advice", {{"owner", advice.owner}, {"set", advice.set}, {"text", advice.text}}},
          {"covers",
           {{"processes", ledger.processes},
            {"epochs", ledger.epochs},
            {"epochs_again", ledger.epochs_again},
            {"status", ledger.status},
            {"damaged_lines", ledger.damaged_lines},
            {"gaps", ledger.gaps}}}};
}

}  // namespace esper::history
