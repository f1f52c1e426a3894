#pragma once
// Carries out drills. One thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "drill/drill.h"
#include "drill/run_contents.h"
#include "drill/training_plan.h"

namespace esper::drill {

struct DrillResult {
  std::string name, about;
  std::vector<std::string> failures{};           // what did not come as expected; empty: it passed
  std::string skipped{};                         // why it was not carried out; empty: it was
  std::vector<std::string> ends{};               // of its processes, in order: "exit status 0"
  std::map<std::string, std::int64_t> events{};  // those that it names, and how often the run reported them
  double took_s = 0;                             // without the run that it is compared with
};

// Runs of the same training without faults, each trained once. In `folder`.
class References {
 public:
  explicit References(std::string folder) : folder_(std::move(folder)) {}
  // With compiled programs of its own, and none of the plan's: a disturbed run that finds its programs does not wait
  // for the compiler, and one whose faults spoil them must not spoil what it is compared with. Throws as train_to_end()
  // and read_contents().
  const RunContents& of(const TrainingPlan& plan);

 private:
  std::string folder_;
  std::map<std::string, RunContents> contents_;
};

// What drills are carried out with.
struct DrillSetup {
  std::string program;        // esper
  std::string folder;         // for the drills' runs
  std::string config;         // a run file in place of the drills' own; empty: their own
  bool can_use_gpus = false;  // the build can
};

// Why this machine, or this build, cannot carry it out; empty: they can.
std::string missing_requirement(const Drill& drill, const DrillSetup& setup);

// A fault that never fired, a process that does not end and a run that cannot be read back are failures of the drill.
// Throws only where the user stops it (stop.h).
DrillResult run_drill(const Drill& drill, const DrillSetup& setup, References& references);

}  // namespace esper::drill
