#include "base/memory_room.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/cgroup.h"
#include "base/parse_number.h"

// Formats: proc(5) for /proc/self/status and meminfo; the kernel's admin-guide/cgroup-v2.rst and
// cgroup-v1/memory.rst.
namespace esper::base {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMebibyte = 1 << 20;

void lower(MemoryRoom& room, std::int64_t bytes, const std::string& limit) {
  if (bytes >= room.bytes) return;
  room = {std::max<std::int64_t>(bytes, 0), limit};
}

// Nothing for "max", and for a number beyond 63 bits.
std::optional<std::int64_t> whole_number(std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  return whole_number(word);
}

// The number after `key` in a file of lines "KEY NUMBER".
std::optional<std::int64_t> entry_in(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name, value;
    if (words >> name >> value && name == key) return whole_number(value);
  }
  return std::nullopt;
}

std::optional<std::int64_t> kibibytes_in(const fs::path& file, std::string_view key) {
  const auto value = entry_in(file, key);
  return value ? std::optional(*value * 1024) : std::nullopt;
}

std::optional<std::int64_t> resource_limit(decltype(RLIMIT_AS) resource) {
  rlimit limits{};
  if (getrlimit(resource, &limits) != 0 || limits.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(
      std::min<rlim_t>(limits.rlim_cur, static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max())));
}

// How a version of cgroups names its files.
struct CgroupFiles {
  std::vector<const char*> limits;
  const char* usage;
  std::vector<const char*> reclaimable;  // in memory.stat, descendants included
};
const CgroupFiles kVersion1{
    {"memory.limit_in_bytes"}, "memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}};
const CgroupFiles kVersion2{{"memory.max", "memory.high"}, "memory.current", {"inactive_file", "active_file"}};

// What is in use is taken off, or not.
enum class Count { kFree, kAll };

void lower_by_cgroup(MemoryRoom& room, const fs::path& folder, const CgroupFiles& files, const std::string& name,
                     Count count) {
  auto used = number_in(folder / files.usage);
  if (!used) return;
  for (const char* key : files.reclaimable) *used -= entry_in(folder / "memory.stat", key).value_or(0);
  if (count == Count::kAll) used = 0;
  for (const char* file : files.limits) {
    const auto limit = number_in(folder / file);
    if (limit) lower(room, *limit - *used, std::string(file) + " of cgroup " + name + ", " + mebibytes(*limit));
  }
}

void lower_by_cgroups(MemoryRoom& room, const fs::path& proc, Count count) {
  for (const Cgroup& group : own_cgroups(proc, "memory"))
    lower_by_cgroup(room, group.folder, group.is_unified ? kVersion2 : kVersion1, group.name, count);
}

}  // namespace

MemorySources system_memory() {
  MemorySources sources;
  sources.address_space = resource_limit(RLIMIT_AS);
  sources.data_segment = resource_limit(RLIMIT_DATA);
  return sources;
}

MemoryRoom memory_room(const MemorySources& sources) {
  MemoryRoom room{std::numeric_limits<std::int64_t>::max(), "no known limit"};
  if (const auto available = kibibytes_in(sources.proc / "meminfo", "MemAvailable:")) {
    lower(room, *available, "the machine's available memory");
  }
  const auto status = sources.proc / "self/status";
  const auto limited = [&](std::optional<std::int64_t> limit, const char* mapped, const char* name) {
    if (limit) {
      lower(room, *limit - kibibytes_in(status, mapped).value_or(0), std::string(name) + ", " + mebibytes(*limit));
    }
  };
  limited(sources.address_space, "VmSize:", "RLIMIT_AS (ulimit -v)");
  limited(sources.data_segment, "VmData:", "RLIMIT_DATA (ulimit -d)");
  lower_by_cgroups(room, sources.proc, Count::kFree);
  return room;
}

MemoryRoom whole_memory(const MemorySources& sources) {
  MemoryRoom room{std::numeric_limits<std::int64_t>::max(), "no known limit"};
  if (const auto total = kibibytes_in(sources.proc / "meminfo", "MemTotal:")) {
    lower(room, *total, "the machine's memory");
  }
  lower_by_cgroups(room, sources.proc, Count::kAll);
  return room;
}

std::string mebibytes(std::int64_t bytes) {
  return bytes < kMebibyte ? fmt::format("{} bytes", bytes) : fmt::format("{} MiB", bytes / kMebibyte);
}

}  // namespace esper::base
