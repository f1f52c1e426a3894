#pragma once
// A warning that fp16 does not suit a run: its loss scaling skips most steps, since their gradients overflow.

#include <optional>

#include "leyline/telemetry/telemetry_packet.h"
#include "step/step_settings.h"
#include "tolaria/growth/observe.h"
#include "tolaria/state/run_progress.h"

namespace esper::tolaria {

// Of an epoch that is counted: where at least half of its steps were skipped. The first skips of a run, which bring the
// scale down from training.grad_scaler.init_scale to 1, are no sign of a problem yet. At the end of training there is
// nothing to wait for: half of the last epoch's steps is then too much, and half of the run's.
std::optional<leyline::TelemetryEvent> scaler_warning(const step::StepSettings& settings, const RunProgress& progress,
                                                      const EpochResults& results);

// Where a signal ends the process, and a resumed one would say it later at best: at least half of the run's steps, or
// of those of an epoch that is not counted, were skipped, and more than the first skips of a run.
std::optional<leyline::TelemetryEvent> scaler_warning_at_signal(const step::StepSettings& settings,
                                                                const RunProgress& progress,
                                                                const step::StepMetrics& uncounted);

}  // namespace esper::tolaria
