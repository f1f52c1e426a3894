#include "esper/bench_daemon/bench_daemon.h"

#include "base/interrupt.h"
#include "base/text/progress_line.h"
#include "esper/bench_daemon/daemon_figures.h"
#include "esper/bench_daemon/measure_beside_spooler.h"
#include "esper/bench_daemon/measure_trainings.h"
#include "esper/bench_daemon/measured_place.h"
#include "esper/bench_daemon/queue_measurement.h"
#include "esper/output.h"

namespace esper {
namespace {

DaemonFigures measured_figures(const DaemonBench& bench) {
  MeasuredPlace place(bench);
  DaemonFigures figures;
  figures.commit = bench.commit;
  figures.queue_length = bench.queued;
  measure_idle(place, figures);
  measure_trainings(place, figures);
  measure_commands(place, figures);
  QueueMeasurement(place, figures).run();
  return figures;
}

}  // namespace

int bench_daemon(const DaemonBench& bench) {
  base::Interrupt interrupt;
  interrupt.begin_saving();
  const DaemonFigures figures = measured_figures(bench);
  base::end_progress();
  if (bench.json) {
    print_json(json_of(figures));
  } else {
    print(text_of(figures));
  }
  return 0;
}

}  // namespace esper
