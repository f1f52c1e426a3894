#pragma once
// Which job made room for which. Once is enough: where it was not sufficient, as where others took the room, doing it
// again would not be, and the two would take turns for ever. One thread.

#include <algorithm>
#include <map>
#include <vector>

#include "jobs/job/job.h"

namespace esper::jobs {

class MadeRoom {
 public:
  // Forgets jobs that room was made for and that do not wait any more.
  void keep(const std::vector<Job>& waiting) {
    std::erase_if(made_for_,
                  [&](const auto& made) { return std::ranges::find(waiting, made.second, &Job::id) == waiting.end(); });
  }
  // Whether `job` is to make room for `waiting`: it has not done so yet.
  bool add(JobId job, JobId waiting) {
    const auto [made, is_new] = made_for_.try_emplace(job, waiting);
    return is_new || std::exchange(made->second, waiting) != waiting;
  }

 private:
  std::map<JobId, JobId> made_for_;
};

}  // namespace esper::jobs
