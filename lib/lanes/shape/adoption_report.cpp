#include "lanes/shape/adoption_report.h"

#include "base/names.h"
#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

}  // namespace

void report_adoption(const LaneContext& context, const StepShape& shape, const StepOutcome& outcome,
                     std::int64_t number) {
  const auto emit_with_speedup = [&](leyline::TelemetryEvent reported) {
    if (outcome.speedup) reported.attributes["speedup"] = base::format_significant(*outcome.speedup, 3);
    context.emit(std::move(reported));
  };
  emit_with_speedup(event("tolaria.lane_adopted"_event, Level::kInfo,
                          {{"lane", std::string(context.kind(outcome.lane)->name)},
                           {"from", std::string(context.kind(outcome.former)->name)},
                           {"step", std::to_string(number)},
                           {"reason", outcome.speedup ? "it was faster in the trial" : "it is the selected lane"}}));
  if (outcome.lane == config::Lane::kCompiled) {
    emit_with_speedup(event("tolaria.compile_enabled"_event, Level::kInfo,
                            {{"mode", std::string(base::name_of(context.config.compile.mode))},
                             {"dynamic", shape.group != nullptr ? "true" : "false"}}));
  }
  if (outcome.lane == config::Lane::kGraph) {
    const double capture_ms = context.capture.figures().capture_ms;
    context.emit(
        event("tolaria.graph_enabled"_event, Level::kInfo, {{"capture_ms", base::format_significant(capture_ms, 3)}}));
  }
}

}  // namespace esper::lanes
