#include "jobs/machine/cores.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <thread>

#include "base/cgroup.h"

namespace esper::jobs {
namespace {

std::int64_t cores_of_affinity() {
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) return CPU_COUNT(&mine);
  return std::thread::hardware_concurrency();  // more of them than the set holds
}

// Microseconds of CPU time in each period; nothing: as many as there are.
struct Quota {
  double time = 0, period = 0;
};

std::optional<Quota> quota_of(const base::Cgroup& group) {
  Quota quota;
  if (group.is_unified) {
    std::ifstream file(group.folder / "cpu.max");  // "200000 100000", or "max 100000"
    if (!(file >> quota.time >> quota.period)) return std::nullopt;
  } else {
    std::ifstream time(group.folder / "cpu.cfs_quota_us"), period(group.folder / "cpu.cfs_period_us");
    if (!(time >> quota.time) || !(period >> quota.period)) return std::nullopt;
  }
  return quota.time > 0 && quota.period > 0 ? std::optional(quota) : std::nullopt;
}

}  // namespace

std::int64_t usable_cores(const std::filesystem::path& proc) {
  std::int64_t cores = cores_of_affinity();
  for (const base::Cgroup& group : base::own_cgroups(proc, "cpu")) {
    const auto quota = quota_of(group);
    if (quota) cores = std::min(cores, static_cast<std::int64_t>((quota->time + quota->period - 1) / quota->period));
  }
  return std::max<std::int64_t>(cores, 1);
}

}  // namespace esper::jobs
