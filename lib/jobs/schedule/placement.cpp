#include "jobs/schedule/placement.h"

#include <fmt/core.h>

#include <algorithm>

#include "jobs/schedule/pool.h"

namespace esper::jobs {
namespace {

// The lowest and youngest ones first.
std::vector<Job> yielding_order(const Job& job, const std::vector<Job>& active) {
  std::vector<Job> order;
  for (const Job& one : active)
    if (one.priority < job.priority && one.state == JobState::kRunning) order.push_back(one);
  std::ranges::sort(order, [](const Job& a, const Job& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.id > b.id;
  });
  return order;
}

bool fits_without(const Job& job, Pool pool, const std::vector<Job>& yielding) {
  for (const Job& one : yielding) pool.give_back(one);
  return pool.lacking(job).empty();
}

// Running jobs of lower priority without which the job begins: none that is not needed for that, and none at all where
// they are not enough.
std::vector<JobId> yields_for(const Job& job, Pool pool, const std::vector<Job>& active) {
  // What is stopping gives back what it has in any case.
  for (const Job& one : active)
    if (one.state == JobState::kStopping) pool.give_back(one);
  std::vector<Job> chosen;
  for (const Job& one : yielding_order(job, active)) {
    if (fits_without(job, pool, chosen)) break;
    chosen.push_back(one);
  }
  if (!fits_without(job, pool, chosen)) return {};
  for (auto at = chosen.size(); at-- > 0;) {  // higher ones first: they go on if lower ones alone suffice
    auto fewer = chosen;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
    if (fits_without(job, pool, fewer)) chosen = std::move(fewer);
  }
  std::vector<JobId> ids;
  for (const Job& one : chosen) ids.push_back(one.id);
  return ids;
}

Pool after_all(Pool pool, const std::vector<Job>& active) {
  for (const Job& job : active) pool.give_back(job);
  return pool;
}

}  // namespace

Placement place(const std::vector<Job>& ready, const std::vector<Job>& active, const Machine& machine) {
  Placement placement;
  Pool free(machine, active);
  Pool unkept = free;  // without what is kept for waiting jobs
  const Pool whole = after_all(free, active);
  JobId first_waiting = 0;
  for (const Job& job : ready) {
    if (free.lacking(job).empty()) {
      const auto gpus = *free.gpus_for(job);
      free.take(job, gpus);
      unkept.take(job, gpus);
      placement.starts.push_back({job.id, gpus});
      continue;
    }
    std::string reason = unkept.lacking(job);
    if (reason.empty())
      reason = fmt::format("waits for its turn: free resources are reserved for job {}", first_waiting);
    placement.waits.push_back({job.id, reason});
    placement.look_again = placement.look_again || unkept.others_take_of(job);
    if (!whole.lacking(job).empty()) continue;
    if (first_waiting == 0) {
      first_waiting = job.id;
      placement.yields = yields_for(job, unkept, active);
      placement.yields_for = job.id;
    }
    free.keep_for(job);
    if (!free.has_threads()) break;  // each job needs threads
  }
  return placement;
}

}  // namespace esper::jobs
