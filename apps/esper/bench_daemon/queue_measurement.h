#pragma once
// How long the daemon's answers take with an empty and with a full queue. One thread.

#include <string>

#include "esper/bench_daemon/daemon_figures.h"
#include "esper/bench_daemon/measured_place.h"
#include "jobs/job/job.h"

namespace esper {

class QueueMeasurement {
 public:
  // Borrows both; what it measures is added to the figures.
  QueueMeasurement(MeasuredPlace& place, DaemonFigures& figures) : place_(place), figures_(figures) {}

  // The queue is empty before, and full afterwards.
  void run();

 private:
  jobs::Submission submission(bool hold);
  void submits(const std::string& what);
  void fill();
  void lists();
  void restarts();

  MeasuredPlace& place_;
  DaemonFigures& figures_;
  jobs::JobId held_ = 0;
  int seed_ = 0;  // of the last submission
};

}  // namespace esper
