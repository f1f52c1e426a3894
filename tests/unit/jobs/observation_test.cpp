#include "jobs/schedule/observation.h"

#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>

#include "jobs/machine/cores.h"
#include "jobs/machine/process_memory.h"
#include "support/environment_variable.h"
#include "support/temporary_folder.h"

namespace esper::test::observation_test {

using namespace esper::jobs;
using esper::test::EnvironmentVariable;
using esper::test::TemporaryFolder;

namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

std::vector<std::int64_t> indexes_of(const Observer& observer) {
  std::vector<std::int64_t> indexes;
  for (const Gpu& gpu : observer.capacity().gpus) indexes.push_back(gpu.index);
  return indexes;
}

using Indexes = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("cores: no more than the cgroup's share of time") {
  const TemporaryFolder proc;
  CHECK(usable_cores(proc / "none") >= 1);
  write(proc / "self/mountinfo", "35 32 0:32 / " + (proc / "cgroup") + " rw - cgroup2 cgroup rw\n");
  write(proc / "self/cgroup", "0::/jobs\n");
  write(proc / "cgroup/jobs/cpu.max", "50000 100000\n");
  CHECK(usable_cores(proc.path()) == 1);
  write(proc / "cgroup/jobs/cpu.max", "max 100000\n");
  CHECK(usable_cores(proc.path()) == usable_cores(proc / "none"));
}

TEST_CASE("memory of a process is what it alone has") {
  CHECK(own_memory_of(::getpid()) > 0);
  CHECK(own_memory_of(::getpid()) < std::int64_t{4} << 30);
  CHECK(own_memory_of(0x7ffffffe) == 0);
}

TEST_CASE("GPUs for jobs: those that the daemon itself may use, and of them those that it was given") {
  CHECK(indexes_of(Observer({.nvml = "no such library"})).empty());
  CHECK(indexes_of(Observer({.nvml = FAKE_NVML})) == Indexes{0, 1});
  CHECK(indexes_of(Observer({.gpus = Indexes{1}, .nvml = FAKE_NVML})) == Indexes{1});
  const EnvironmentVariable visible("CUDA_VISIBLE_DEVICES", "1");
  const Observer observer({.nvml = FAKE_NVML});
  CHECK(indexes_of(observer) == Indexes{1});
  CHECK(observer.uuids_of({1}) == std::vector<std::string>{"GPU-0001-fake"});
}

TEST_CASE("the machine now: what is kept back is taken off, GPUs are asked only where a job waits for one") {
  const TemporaryFolder folder;
  Job job;
  job.id = 3;
  job.run_dir = folder / "run";
  const auto job_folder = [&](JobId) { return JobFolder{folder / "job"}; };
  const Observer observer({.nvml = FAKE_NVML});
  CHECK(observer.look({job}, {}, job_folder).free_gpu_bytes.empty());
  job.needs.gpus = 1;
  job.attempts = 1;
  write(folder / "run/telemetry.jsonl", std::string(1000, 'x'));
  const auto now = observer.look({job}, {}, job_folder);
  CHECK(now.free_gpu_bytes.at(1) == (std::int64_t{7} << 30) - KeptBack{}.gpu_bytes);
  CHECK(now.free_memory_bytes < now.capacity.memory_bytes);
  CHECK(now.uses.at(3).written_bytes == 1000);
  CHECK(now.free_disk_bytes.contains(now.uses.at(3).disk));
  const Observer reserved({.kept_back = {.disk_bytes = std::int64_t{1} << 60}, .nvml = FAKE_NVML});
  CHECK(reserved.look({job}, {}, job_folder).free_disk_bytes.at(now.uses.at(3).disk) == 0);
}

}  // namespace esper::test::observation_test
