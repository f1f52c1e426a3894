#include "base/cgroup.h"

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

// Formats: proc(5) for /proc/self/cgroup and mountinfo; the kernel's admin-guide/cgroup-v2.rst and
// cgroup-v1/cgroups.rst.
namespace esper::base {
namespace {

namespace fs = std::filesystem;

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

std::vector<CgroupMount> mounts_of(const fs::path& proc, std::string_view controller) {
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
    if (unified || (type == "cgroup" && has_word(options, controller))) {
      mounts.push_back({unescaped(folder), unescaped(root), unified});
    }
  }
  return mounts;
}

// Of lines "0::/a/b" (v2) and "4:memory:/a/b" (v1).
std::optional<std::string> own_cgroup(const fs::path& proc, std::string_view controller, bool unified) {
  std::ifstream in(proc / "self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const bool wanted = unified ? line.starts_with("0::") : has_word(controllers, controller);
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

}  // namespace

std::vector<Cgroup> own_cgroups(const fs::path& proc, std::string_view controller) {
  std::vector<Cgroup> groups;
  for (const auto& mount : mounts_of(proc, controller)) {
    const auto cgroup = own_cgroup(proc, controller, mount.unified);
    if (!cgroup) continue;
    for (auto below = below_mount(mount, *cgroup);; below = below.parent_path()) {
      const auto name = below.empty() ? mount.root : (fs::path(mount.root) / below).string();
      groups.push_back({mount.folder / below, name, mount.unified});
      if (below.empty()) break;
    }
  }
  return groups;
}

}  // namespace esper::base
