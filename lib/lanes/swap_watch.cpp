#include "lanes/swap_watch.h"

#include <algorithm>

#include "base/statistics.h"
#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {

using base::format_significant;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// So many steps after a change of structure are timed.
constexpr std::size_t kWatchedSteps = 20;

}  // namespace

void SwapWatch::begin(std::int64_t number, std::optional<double> prepare_ms, double swap_us) {
  swap_ = Swap{number, prepare_ms, swap_us, {}};
}

void SwapWatch::record_step_time(base::Duration took) {
  swap_->step_ms.push_back(base::milliseconds(took));
  if (swap_->step_ms.size() == kWatchedSteps) end();
}

void SwapWatch::end() {
  if (!swap_) return;
  const Swap swap = *std::exchange(swap_, std::nullopt);
  if (swap.step_ms.empty()) return;
  const double excess = *std::ranges::max_element(swap.step_ms) - base::median(swap.step_ms);
  LaneFigures& figures = context_.figures;
  ++figures.swaps;
  figures.prepare_ms = swap.prepare_ms.value_or(0);
  figures.swap_us = swap.swap_us;
  figures.stall_ms = swap.swap_us / 1e3 + excess;
  context_.emit(event("tolaria.growth_swapped"_event, Level::kInfo,
                      {{"step", std::to_string(swap.number)},
                       {"lane", std::string(context_.kind(figures.in_use)->name)},
                       {"prepared", swap.prepare_ms ? "true" : "false"},
                       {"prepare_ms", format_significant(figures.prepare_ms, 4)},
                       {"swap_us", format_significant(figures.swap_us, 4)},
                       {"stall_ms", format_significant(figures.stall_ms, 4)}}));
}

}  // namespace esper::lanes
