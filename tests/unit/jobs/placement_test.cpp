#include "jobs/schedule/placement.h"

#include <catch2/catch_test_macros.hpp>

using namespace esper::jobs;

namespace {

const Capacity kMachine{.threads = 4, .memory_bytes = 8 << 20, .gpus = {0, 1}};

Job job_with(JobId id, Resources needs, std::int64_t priority = 0) {
  Job job;
  job.id = id;
  job.needs = needs;
  job.priority = priority;
  return job;
}

Job running_with(JobId id, Resources needs, std::int64_t priority = 0) {
  Job job = job_with(id, needs, priority);
  job.state = JobState::kRunning;
  return job;
}

std::vector<JobId> started(const Placement& placement) {
  std::vector<JobId> jobs;
  for (const auto& start : placement.starts) jobs.push_back(start.job);
  return jobs;
}

}  // namespace

TEST_CASE("jobs begin in their order until one does not fit") {
  const auto placement =
      place({job_with(1, {.threads = 2}), job_with(2, {.threads = 3}), job_with(3, {.threads = 1})}, {}, kMachine);
  CHECK(started(placement) == std::vector<JobId>{1});
  REQUIRE(placement.waits.size() == 1);
  CHECK(placement.waits[0].job == 2);
  CHECK(placement.waits[0].reason == "waits for threads: needs 3, 2 of 4 are free");
  CHECK(placement.yields.empty());
}

TEST_CASE("a job that does not say takes all threads, one that wants more than there are as well") {
  CHECK(threads_of({.threads = 0}, kMachine) == 4);
  CHECK(threads_of({.threads = 9}, kMachine) == 4);
  CHECK(started(place({job_with(1, {}), job_with(2, {})}, {}, kMachine)) == std::vector<JobId>{1});
}

TEST_CASE("each GPU is given to one job, and memory is counted") {
  const auto placement = place({job_with(1, {.threads = 1, .gpus = 1}), job_with(2, {.threads = 1, .gpus = 1}),
                                job_with(3, {.threads = 1, .gpus = 1})},
                               {}, kMachine);
  REQUIRE(placement.starts.size() == 2);
  CHECK(placement.starts[0].gpus != placement.starts[1].gpus);
  CHECK(placement.waits.at(0).reason == "waits for GPUs: needs 1, 0 of 2 are free");
  const auto full = place({job_with(1, {.threads = 1, .memory_bytes = 9 << 20})}, {}, kMachine);
  CHECK(full.starts.empty());
  CHECK(full.waits.at(0).reason == "waits for memory: needs 9 MiB, 8 MiB of 8 MiB are free");
}

TEST_CASE("for a job of higher priority the lowest and youngest ones yield, as few as suffice") {
  const std::vector<Job> active{running_with(1, {.threads = 1}, 1), running_with(2, {.threads = 1}, 0),
                                running_with(3, {.threads = 1}, 0), running_with(4, {.threads = 1}, 5)};
  CHECK(place({job_with(9, {.threads = 1}, 3)}, active, kMachine).yields == std::vector<JobId>{3});
  CHECK(place({job_with(9, {.threads = 3}, 3)}, active, kMachine).yields == std::vector<JobId>{3, 2, 1});
  CHECK(place({job_with(9, {.threads = 1}, 0)}, active, kMachine).yields.empty());
  // It would not fit even then.
  CHECK(place({job_with(9, {.threads = 4}, 3)}, active, kMachine).yields.empty());
}

TEST_CASE("nobody yields while what stops already is enough") {
  std::vector<Job> active{running_with(1, {.threads = 3}), running_with(2, {.threads = 1})};
  active[1].state = JobState::kStopping;
  const auto placement = place({job_with(9, {.threads = 1}, 3)}, active, kMachine);
  CHECK(placement.starts.empty());
  CHECK(placement.yields.empty());
}
