#include "data/files/memory_room.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <vector>

// Formats: proc(5) for /proc/self/cgroup, mountinfo, status and meminfo; the kernel's admin-guide/cgroup-v2.rst and
// cgroup-v1/memory.rst.
namespace esper::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMebibyte = 1 << 20;

void lower(MemoryRoom& room, std::int64_t bytes, const std::string& limit) {
  if (bytes >= room.bytes) return;
  room = {std::max<std::int64_t>(bytes, 0), limit};
}

// Nothing for "max", and for a number beyond 63 bits.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() || value < 0) return std::nullopt;
  return value;
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

struct CgroupMount {
  fs::path folder;
  std::string root;  // path, within the hierarchy, of the cgroup that is mounted there
  bool unified = false;
};

bool has_word(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

// Mount points hold blanks and the like as \ooo.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const bool escape = text[i] == '\\' && i + 3 < text.size() &&
                        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4;
    out += escape ? static_cast<char>(code) : text[i];
    if (escape) i += 3;
  }
  return out;
}

std::vector<CgroupMount> memory_mounts(const fs::path& proc) {
  std::vector<CgroupMount> mounts;
  std::ifstream in(proc / "self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line), right(line.substr(dash + 3));
    std::string skipped, root, folder, type, source, options;
    left >> skipped >> skipped >> skipped >> root >> folder;
    right >> type >> source >> options;
    const bool unified = type == "cgroup2";
    if (unified || (type == "cgroup" && has_word(options, "memory"))) {
      mounts.push_back({unescaped(folder), unescaped(root), unified});
    }
  }
  return mounts;
}

// Of lines "0::/a/b" (v2) and "4:memory:/a/b" (v1).
std::optional<std::string> own_cgroup(const fs::path& proc, bool unified) {
  std::ifstream in(proc / "self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const bool wanted = unified ? line.starts_with("0::") : has_word(controllers, "memory");
    if (wanted) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The cgroup's path below the mounted one. A container without a cgroup namespace mounts its own cgroup and still reads
// the whole path in /proc/self/cgroup.
fs::path below_mount(const CgroupMount& mount, const std::string& cgroup) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  const bool within = cgroup.starts_with(root) && (cgroup.size() == root.size() || cgroup[root.size()] == '/');
  const auto below = within ? fs::path(cgroup.substr(root.size())).relative_path() : fs::path();
  std::error_code ignored;
  return fs::is_directory(mount.folder / below, ignored) ? below : fs::path();
}

void lower_by_cgroup(MemoryRoom& room, const fs::path& folder, const CgroupFiles& files, const std::string& name) {
  auto used = number_in(folder / files.usage);
  if (!used) return;
  for (const char* key : files.reclaimable) *used -= entry_in(folder / "memory.stat", key).value_or(0);
  for (const char* file : files.limits) {
    const auto limit = number_in(folder / file);
    if (limit) lower(room, *limit - *used, std::string(file) + " of cgroup " + name + ", " + mebibytes(*limit));
  }
}

void lower_by_cgroups(MemoryRoom& room, const fs::path& proc) {
  for (const auto& mount : memory_mounts(proc)) {
    const auto cgroup = own_cgroup(proc, mount.unified);
    if (!cgroup) continue;
    for (auto below = below_mount(mount, *cgroup);; below = below.parent_path()) {
      const auto name = below.empty() ? mount.root : (fs::path(mount.root) / below).string();
      lower_by_cgroup(room, mount.folder / below, mount.unified ? kVersion2 : kVersion1, name);
      if (below.empty()) break;
    }
  }
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
  lower_by_cgroups(room, sources.proc);
  return room;
}

std::string mebibytes(std::int64_t bytes) {
  return bytes < kMebibyte ? fmt::format("{} bytes", bytes) : fmt::format("{} MiB", bytes / kMebibyte);
}

}  // namespace esper::data
