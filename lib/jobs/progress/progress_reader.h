#pragma once
// The progress of jobs, from their run folders. It keeps what it has read of the jobs that run and of those that were
// asked for most recently, so that the next look reads what was appended since. One thread.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jobs/progress/course.h"
#include "jobs/progress/progress.h"
#include "jobs/progress/telemetry_tail.h"

namespace esper::jobs {

// How far a look came; differs from that of the look before where the progress has changed.
struct ProgressMark {
  std::uint64_t reading = 0;  // a number of its own for each time that a run is read from its beginning
  std::uint64_t revision = 0;
  std::int64_t planned_epochs = 0;
  bool operator==(const ProgressMark&) const = default;
};

class ProgressReader {
 public:
  static constexpr std::size_t kMostRuns = 64;  // more where more run

  struct Look {
    Progress progress;
    ProgressMark mark;
  };
  // With the epochs that came after a former look's mark; all of them without one, and where what had been read by then
  // was forgotten, or another run has begun in the folder. A run folder that is not there yet, or that cannot be read,
  // has no epochs. Reads at most 5 MiB of it, and 8 MiB more where settings of the run were changed since the last
  // look.
  Look look(const Job& job, const ProgressMark& since = {});
  // What was read of these is not forgotten until the next call.
  void keep(const std::vector<Job>& running);

 private:
  struct Facts {
    std::int64_t planned_epochs = 0;
    std::string metric;
  };
  struct Run {
    std::string folder;
    std::string config_stamp;  // of its config.yaml: that of another run, or of other settings, is another file
    TelemetryTail tail;
    Course course;
    Facts facts;
    std::string facts_stamp;  // of the files that `facts` is from
    std::uint64_t reading = 0;
    std::uint64_t last_used = 0;
  };
  Run& run_of(const Job& job);
  void forget_some();
  static void read(Run& run);
  static void forget_run_before(Run& run, const std::string& config_stamp);
  static void read_facts(Run& run, const runs::FolderReader& folder, const runs::FolderReader::OpenFile& config);

  std::map<JobId, Run> runs_;
  std::set<JobId> kept_;
  std::uint64_t looks_ = 0;
};

}  // namespace esper::jobs
