#pragma once
// The progress of jobs, from their run folders. It keeps what it has read of the jobs that were asked for most
// recently, so that the next look reads what was appended since. One thread.

#include <cstdint>
#include <map>
#include <string>

#include "jobs/progress/course.h"
#include "jobs/progress/progress.h"
#include "jobs/progress/telemetry_tail.h"

namespace esper::jobs {

class ProgressReader {
 public:
  static constexpr std::size_t kMostRuns = 64;

  struct Look {
    Progress progress;
    std::uint64_t revision = 0;  // grows when the progress changes; begins anew where it was forgotten
  };
  // With the epochs that came after a former look's revision; 0: all. A run folder that is not there yet, or that
  // cannot be read, has no epochs. Reads at most 5 MiB of it.
  Look look(const Job& job, std::uint64_t since = 0);

 private:
  struct Facts {
    std::int64_t planned_epochs = 0;
    std::string metric;
  };
  struct Run {
    std::string folder;
    TelemetryTail tail;
    Course course;
    Facts facts;
    std::string config_stamp;  // of the file that `facts` is from
    std::uint64_t last_used = 0;
  };
  Run& run_of(const Job& job);
  static void read(Run& run);
  static void read_facts(Run& run, const runs::FolderReader& folder);

  std::map<JobId, Run> runs_;
  std::uint64_t looks_ = 0;
};

}  // namespace esper::jobs
