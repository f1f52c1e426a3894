#include "jobs/queue/adoption.h"

#include <fmt/core.h>

#include "base/file_system.h"
#include "jobs/job/job_states.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

constexpr auto kAdoptAgain = std::chrono::seconds(5);

}  // namespace

Adoption::Adoption(boost::asio::io_context& loop, JobStore& store, Attempts& attempts, Callbacks callbacks)
    : store_(store),
      attempts_(attempts),
      callbacks_(std::move(callbacks)),
      again_(loop, kAdoptAgain, callbacks_.again) {}

void Adoption::begin() {
  for (const Job& job : store_.list({.states = kActiveStates})) adopt(job);
}

void Adoption::go_on() {
  if (left_.empty()) return;
  for (const JobId id : std::set(left_)) adopt(*store_.find(id));
  if (!left_.empty()) again_.start();
}

void Adoption::adopt(const Job& job) {
  try {
    if (auto end = attempts_.adopt(job)) {
      end->never_began |= job.state == JobState::kStarting && !end->exit_code && end->signal == 0 &&
                          end->problem.empty() && !read_process(attempts_.folder_of(job.id), job.attempts);
      callbacks_.ended(job.id, *end);
    } else if (job.state == JobState::kStopping) {
      attempts_.stop(job.id);
    }
    left_.erase(job.id);
  } catch (const base::IoError& error) {
    if (left_.insert(job.id).second)
      nissa::log::warning(fmt::format(
          "job {}: cannot find out whether it is running: {}; tried again until it succeeds", job.id, error.what()));
  }
}

}  // namespace esper::jobs
