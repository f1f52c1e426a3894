#include "jobs/schedule/placement.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::placement_test {

using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t kMega = 1 << 20;
constexpr std::uint64_t kDisk = 7, kOtherDisk = 8;

// 4 threads, 1000 MiB of memory for jobs, two GPUs of 80 MiB, 500 MiB on each disk; nothing else runs.
Machine machine() {
  Machine machine;
  machine.capacity = {
      .threads = 4,
      .memory_bytes = 1000 * kMega,
      .gpus = {{0, "small", "GPU-a", 80 * kMega, 80 * kMega}, {1, "large", "GPU-b", 80 * kMega, 80 * kMega}}};
  machine.free_memory_bytes = 1000 * kMega;
  machine.free_gpu_bytes = {{0, 80 * kMega}, {1, 80 * kMega}};
  machine.free_disk_bytes = {{kDisk, 500 * kMega}, {kOtherDisk, 500 * kMega}};
  return machine;
}

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

Job with_memory(JobId id, std::int64_t mega, std::int64_t priority = 0) {
  return job_with(id, {.threads = 1, .memory_bytes = mega * kMega}, priority);
}

Job with_gpu(JobId id, std::int64_t device_mega, std::int64_t count = 1) {
  Job job = job_with(id, {.threads = 1, .gpus = count});
  job.forecast.device_memory = {device_mega * kMega, "parameters"};
  return job;
}

Job with_disk(JobId id, std::int64_t mega) {
  Job job = job_with(id, {.threads = 1});
  job.forecast.disk = {mega * kMega, "4 checkpoints"};
  return job;
}

std::vector<JobId> started(const Placement& placement) {
  std::vector<JobId> jobs;
  for (const auto& start : placement.starts) jobs.push_back(start.job);
  return jobs;
}

std::string reason_of(const Placement& placement, JobId job) {
  for (const auto& wait : placement.waits)
    if (wait.job == job) return wait.reason;
  return "";
}

using Jobs = std::vector<JobId>;

}  // namespace

TEST_CASE("jobs begin in their order until one does not fit") {
  const auto placement =
      place({job_with(1, {.threads = 2}), job_with(2, {.threads = 3}), job_with(3, {.threads = 1})}, {}, machine());
  CHECK(started(placement) == Jobs{1});
  REQUIRE(placement.waits.size() == 1);
  CHECK(reason_of(placement, 2) == "waits for threads: needs 3, 2 of 4 are free");
  CHECK(placement.yields.empty());
  CHECK(!placement.look_again);
}

TEST_CASE("a job that does not say takes all threads, one that wants more than there are as well") {
  const Capacity capacity{.threads = 4};
  CHECK(threads_of({.threads = 0}, capacity) == 4);
  CHECK(threads_of({.threads = 9}, capacity) == 4);
  CHECK(started(place({job_with(1, {}), job_with(2, {})}, {}, machine())) == Jobs{1});
}

TEST_CASE("memory: what is declared counts, else the forecast, else what an earlier attempt took") {
  Job job = with_memory(1, 0);
  CHECK(memory_of(job, machine().capacity) == 0);
  job.forecast.memory = {300 * kMega, "data 300 MiB"};
  CHECK(memory_of(job, machine().capacity) == 300 * kMega);
  CHECK(memory_text(job) == "the run is forecast to take 300 MiB (data 300 MiB)");
  job.peak_bytes = 400 * kMega;
  CHECK(memory_of(job, machine().capacity) == 400 * kMega);
  CHECK(memory_text(job) == "an earlier attempt took 400 MiB");
  job.needs.memory_bytes = 200 * kMega;
  CHECK(memory_of(job, machine().capacity) == 200 * kMega);
  CHECK(memory_text(job) == "--memory declares 200 MiB");
}

TEST_CASE("memory: an earlier attempt that had more resident than there is for jobs begins again where all is free") {
  Job job = job_with(1, {.threads = 1});
  job.peak_bytes = 1200 * kMega;
  CHECK(started(place({job}, {}, machine())) == Jobs{1});
  const auto beside = place({job}, {running_with(2, {.threads = 1, .memory_bytes = kMega})}, machine());
  CHECK(started(beside).empty());
}

TEST_CASE("a queued job for which the machine has become too small says so, and holds nobody back") {
  auto now = machine();
  now.capacity.gpus.pop_back();
  const auto placement = place({with_memory(1, 1100), with_gpu(2, 10, 2), with_memory(3, 100)}, {}, now);
  CHECK(started(placement) == Jobs{3});
  CHECK(reason_of(placement, 1) ==
        "cannot begin here: memory: --memory declares 1.1 GiB, and 1000 MiB are available to jobs on this machine; set "
        "--memory if the job needs less");
  CHECK(reason_of(placement, 2) == "cannot begin here: GPUs: it needs 2, and 1 are available to jobs on this machine");
}

TEST_CASE("memory: jobs count as what they may still take, not as what they have now") {
  auto now = machine();
  Job running = running_with(1, {.threads = 1, .memory_bytes = 700 * kMega});
  now.uses[1].resident_bytes = 100 * kMega;
  now.free_memory_bytes = 900 * kMega;  // the running job has not grown yet
  const auto placement = place({with_memory(2, 400)}, {running}, now);
  CHECK(started(placement).empty());
  CHECK(reason_of(placement, 2) == "waits for memory: --memory declares 400 MiB, 300 MiB are free");
  CHECK(!placement.look_again);  // its end is an event
  CHECK(started(place({with_memory(2, 300)}, {running}, now)) == Jobs{2});
  // One that takes more than it said counts as what it has.
  now.uses[1].resident_bytes = 800 * kMega;
  now.free_memory_bytes = 200 * kMega;
  CHECK(started(place({with_memory(2, 300)}, {running}, now)).empty());
}

TEST_CASE("memory that others have taken is looked at again, and holds nobody else back") {
  auto now = machine();
  now.free_memory_bytes = 350 * kMega;
  const auto placement = place({with_memory(1, 400), with_memory(2, 300)}, {}, now);
  CHECK(started(placement) == Jobs{2});
  CHECK_THAT(reason_of(placement, 1), ContainsSubstring("350 MiB are free"));
  CHECK(placement.look_again);
}

TEST_CASE("behind a job that waits only such ones begin as take nothing of what it waits for") {
  const std::vector<Job> active{running_with(1, {.threads = 1, .memory_bytes = 700 * kMega})};
  SECTION("not those that want memory, too") {
    const auto placement = place({with_memory(2, 400), with_memory(3, 10)}, active, machine());
    CHECK(started(placement).empty());
    CHECK(reason_of(placement, 3) == "waits for its turn: free resources are reserved for job 2");
  }
  SECTION("those without a GPU may begin before one that waits for a GPU") {
    Job on_gpu = running_with(1, {.threads = 1, .gpus = 2});
    on_gpu.gpus = {0, 1};
    CHECK(started(place({with_gpu(2, 10), with_memory(3, 10)}, {on_gpu}, machine())) == Jobs{3});
    CHECK(started(place({with_gpu(2, 10), with_gpu(3, 10)}, {on_gpu}, machine())).empty());
    // But not with the threads that it will need.
    CHECK(started(place({with_gpu(2, 10), job_with(3, {.threads = 3})}, {on_gpu}, machine())).empty());
  }
}

TEST_CASE("each GPU is given to one job: the fullest one with enough room") {
  auto now = machine();
  now.free_gpu_bytes[1] = 50 * kMega;  // another program has some of it
  const auto placement = place({with_gpu(1, 40), with_gpu(2, 70), with_gpu(3, 10)}, {}, now);
  REQUIRE(placement.starts.size() == 2);
  CHECK(placement.starts[0].gpus == std::vector<std::int64_t>{1});
  CHECK(placement.starts[1].gpus == std::vector<std::int64_t>{0});
  CHECK(reason_of(placement, 3) == "waits for GPUs: needs 1, 0 of 2 are free");
  // Not knowing what it takes, it gets the emptiest, and none that is half full.
  CHECK(place({with_gpu(1, 0)}, {}, now).starts.at(0).gpus == std::vector<std::int64_t>{0});
  now.free_gpu_bytes = {{0, 39 * kMega}, {1, 39 * kMega}};
  CHECK_THAT(reason_of(place({with_gpu(1, 0)}, {}, now), 1), ContainsSubstring("half of one must be free"));
  // One that is forecast to take all that there is gets one that is as good as empty; one that takes more waits.
  now.free_gpu_bytes[1] = 75 * kMega;
  CHECK(place({with_gpu(1, 80)}, {}, now).starts.at(0).gpus == std::vector<std::int64_t>{1});
  const auto large = place({with_gpu(1, 200)}, {}, now);
  CHECK(large.starts.empty());
  CHECK_THAT(reason_of(large, 1), ContainsSubstring("cannot begin here: GPU memory: the run is forecast to take"));
}

TEST_CASE("GPU memory that another program has taken is looked at again") {
  auto now = machine();
  now.free_gpu_bytes = {{0, 30 * kMega}, {1, 20 * kMega}};
  const auto placement = place({with_gpu(1, 40), with_gpu(2, 25)}, {}, now);
  CHECK(started(placement) == Jobs{2});
  CHECK(reason_of(placement, 1) ==
        "waits for GPU memory: the run is forecast to take 40 MiB (parameters) on each GPU; GPU 0 has 30 MiB free, "
        "GPU 1 has 20 MiB free");
  CHECK(placement.look_again);
  // A GPU whose driver does not answer is none, until it answers.
  now.free_gpu_bytes.clear();
  const auto unanswered = place({with_gpu(1, 1)}, {}, now);
  CHECK(reason_of(unanswered, 1) == "waits for GPUs: needs 1, 0 of 2 are free");
  CHECK(unanswered.look_again);
  auto holder = running_with(3, {.threads = 1, .gpus = 2});
  holder.gpus = {0, 1};
  CHECK_FALSE(place({with_gpu(1, 1)}, {holder}, now).look_again);  // its end is an event
}

TEST_CASE("disk space: what running jobs may still write on the same file system is kept for them") {
  auto now = machine();
  Job running = with_disk(1, 400);
  running.state = JobState::kRunning;
  now.uses = {{1, {.disk = kDisk, .written_bytes = 100 * kMega}}, {2, {.disk = kDisk}}, {3, {.disk = kOtherDisk}}};
  const auto placement = place({with_disk(2, 300), with_disk(3, 300)}, {running}, now);
  CHECK(started(placement) == Jobs{3});
  CHECK(
      reason_of(placement, 2) ==
      "waits for disk space: the run folder is forecast to take 300 MiB (4 checkpoints), 0 KiB have been written, 200 "
      "MiB are free");
  CHECK(placement.look_again);
  now.uses[1].written_bytes = 350 * kMega;
  CHECK(started(place({with_disk(2, 300), with_disk(3, 300)}, {running}, now)) == Jobs{2, 3});
  // Of one that goes on, what it has written is there already.
  now.uses[2].written_bytes = 300 * kMega;
  now.free_disk_bytes[kDisk] = 60 * kMega;
  CHECK(started(place({with_disk(2, 300)}, {running}, now)) == Jobs{2});
}

TEST_CASE("those that yield are told for which job") {
  const auto placement =
      place({with_memory(9, 900, 5)}, {running_with(1, {.threads = 1, .memory_bytes = 500 * kMega})}, machine());
  CHECK(placement.yields == Jobs{1});
  CHECK(placement.yields_for == 9);
}

TEST_CASE("for a job of higher priority the lowest and youngest ones yield, as few as suffice") {
  const std::vector<Job> active{running_with(1, {.threads = 1}, 1), running_with(2, {.threads = 1}, 0),
                                running_with(3, {.threads = 1}, 0), running_with(4, {.threads = 1}, 5)};
  CHECK(place({job_with(9, {.threads = 1}, 3)}, active, machine()).yields == Jobs{3});
  CHECK(place({job_with(9, {.threads = 3}, 3)}, active, machine()).yields == Jobs{3, 2, 1});
  CHECK(place({job_with(9, {.threads = 1}, 0)}, active, machine()).yields.empty());
  // It would not fit even then.
  CHECK(place({job_with(9, {.threads = 4}, 3)}, active, machine()).yields.empty());
}

TEST_CASE("nobody yields who has nothing of what is lacking") {
  const std::vector<Job> active{running_with(1, {.threads = 1, .memory_bytes = 800 * kMega}, 1),
                                running_with(2, {.threads = 1}, 0), running_with(3, {.threads = 1}, 0)};
  CHECK(place({with_memory(9, 500, 3)}, active, machine()).yields == Jobs{1});
}

TEST_CASE("nobody yields where others than our jobs have what is lacking") {
  auto now = machine();
  now.free_memory_bytes = 100 * kMega;
  const std::vector<Job> active{running_with(1, {.threads = 1, .memory_bytes = 50 * kMega})};
  const auto placement = place({with_memory(9, 500, 3)}, active, now);
  CHECK(placement.yields.empty());
  CHECK(placement.look_again);
  // What a yielding job has is free afterwards.
  now.uses[1].resident_bytes = 450 * kMega;
  CHECK(place({with_memory(9, 500, 3)}, active, now).yields == Jobs{1});
}

TEST_CASE("nobody yields while what stops already is enough") {
  std::vector<Job> active{running_with(1, {.threads = 3}), running_with(2, {.threads = 1})};
  active[1].state = JobState::kStopping;
  const auto placement = place({job_with(9, {.threads = 1}, 3)}, active, machine());
  CHECK(placement.starts.empty());
  CHECK(placement.yields.empty());
}

TEST_CASE("a job that yielded does not begin again before the one that it made room for") {
  Job stopping = running_with(1, {.threads = 4});
  stopping.state = JobState::kStopping;
  CHECK(started(place({job_with(9, {.threads = 2}, 3), job_with(8, {.threads = 1})}, {stopping}, machine())).empty());
  CHECK(started(place({job_with(9, {.threads = 2}, 3), job_with(1, {.threads = 4})}, {}, machine())) == Jobs{9});
}

TEST_CASE("what can never fit is told with figures") {
  const Capacity capacity = machine().capacity;
  Job job = with_memory(1, 0);
  job.forecast.memory = {2000 * kMega, "activations 2 GiB"};
  CHECK(never_fits(job, capacity, 0) ==
        "memory: the run is forecast to take 2.0 GiB (activations 2 GiB), and 1000 MiB are available to jobs on this "
        "machine; set --memory if the job needs less");
  job.needs.memory_bytes = 900 * kMega;
  CHECK(never_fits(job, capacity, 0).empty());
  CHECK(never_fits(with_gpu(1, 10, 3), capacity, 0) == "GPUs: it needs 3, and 2 are available to jobs on this machine");
  CHECK_THAT(never_fits(with_gpu(1, 90), capacity, 0), ContainsSubstring("0 of 2 GPUs have as much"));
  CHECK(never_fits(with_gpu(1, 80), capacity, 0).empty());
  CHECK_THAT(never_fits(with_disk(1, 300), capacity, 200 * kMega), ContainsSubstring("has 200 MiB for it"));
  CHECK(never_fits(with_disk(1, 300), capacity, 300 * kMega).empty());
}

}  // namespace esper::test::placement_test
