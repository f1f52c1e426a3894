#pragma once
// A training whose processes are killed at random moments, the start of a process included, and which is continued
// each time. One thread.

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "drill/training_plan.h"
#include "drill/training_process.h"

namespace esper::drill {

struct Kill {
  std::int64_t after_ms = 0;  // from the start of the process
  std::string checkpoint;  // the newest one at that time; empty: none, so the next process started from the beginning
  bool counts = false;     // it is not the one that the process began with, nor the run's last one
};

struct KilledTraining {
  std::vector<Kill> kills;
  int processes = 0;
  bool outlived = false;                  // the last one ended before the moment at which it was to be killed
  std::chrono::milliseconds unbroken{0};  // the time of a training that outlived its first moment; else 0
  int counted() const;                    // kills that count
};

// How the processes of a run are killed.
struct KillSchedule {
  int most = 0;                           // kills that count; of others there may be as many again, and a few
  std::string last_checkpoint;            // of the run
  std::chrono::milliseconds longest{0};   // that a process lives before it is killed
  std::chrono::milliseconds deadline{0};  // of a process that is not killed
};

// Trains from the start, or from the checkpoints of the folder `begin` where that is not empty, to the end; the run is
// then in the folder `run`. Processes that end before they are to be killed are fine: then fewer were killed. Throws
// Error with the process's own words where one fails, and kResources where one is over its deadline.
KilledTraining train_with_kills(const TrainingPlan& plan, const std::string& run, const std::string& begin,
                                const KillSchedule& schedule, std::mt19937_64& random);

// Waits for the end of a process that trains. Throws as above.
void train_to_end(const std::vector<std::string>& command, const std::string& output,
                  std::chrono::milliseconds deadline, const std::vector<std::string>& environment = {});
// Throws Error with the last words in `output`, and the process's exit code, where it did not succeed.
void require_done(const ProcessEnd& end, const std::string& output);

}  // namespace esper::drill
