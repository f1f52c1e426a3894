#pragma once
// Where the limits of this process's cgroups can be read, version 1 and 2. Any thread.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace esper::base {

struct Cgroup {
  std::filesystem::path folder;  // with its files
  std::string name;              // "/a/b"
  bool is_unified = false;       // of version 2
};

// The process's own cgroup and each of its ancestors that is visible here, of every hierarchy that has the controller
// ("memory", "cpu") or is unified. proc: "/proc". What cannot be read is left out.
std::vector<Cgroup> own_cgroups(const std::filesystem::path& proc, std::string_view controller);

}  // namespace esper::base
