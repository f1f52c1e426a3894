#pragma once
// Telemetry of a run: one Tolaria packet and one packet for each seed after an epoch, and one for events in between.

#include "step/step_metrics.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/growth/growth.h"
#include "tolaria/growth/observe.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

// Takes run.events along, and the ledger since the last packet that had it, once that is a millisecond.
void report_epoch(Run& run, const step::StepMetrics& metrics, const Measurements& measured, const EpochTimes& times,
                  const GrowthReport& growth);

// The last packet of a process: run.events, and the time since the last epoch.
void report_end(Run& run);

// A packet of run.events alone; nothing if there are none.
void report_events(Run& run);

}  // namespace esper::tolaria
