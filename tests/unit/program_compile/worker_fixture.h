#pragma once
// The private environment's Python, a program to compile, and whether processes are gone.

#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "program/cache/cache_key.h"
#include "program/cache/user_key.h"
#include "program/compile/compiler.h"
#include "storage/real_file_system.h"
#include "support/compiler_headers.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

namespace esper::program {

inline std::string test_python() { return ESPER_SOURCE_DIR "/.esper/python/bin/python"; }

struct ProcessFacts {
  pid_t process = 0, parent = 0, group = 0;
};

// Of this machine, but for zombies: nobody but init waits for orphans.
inline std::vector<ProcessFacts> running_processes() {
  std::vector<ProcessFacts> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const auto end = text.rfind(')');
    if (end == std::string::npos) continue;
    char state = 0;
    ProcessFacts facts{std::stoi(name)};
    if (std::sscanf(text.c_str() + end + 1, " %c %d %d", &state, &facts.parent, &facts.group) == 3 && state != 'Z') {
      all.push_back(facts);
    }
  }
  return all;
}

inline bool group_has_members(pid_t group) {
  return std::ranges::any_of(running_processes(), [&](const ProcessFacts& facts) { return facts.group == group; });
}

// The compile workers of this process: its children that lead a group of their own.
inline std::vector<pid_t> worker_groups() {
  std::vector<pid_t> groups;
  for (const auto& facts : running_processes()) {
    if (facts.parent == ::getpid() && facts.group == facts.process) groups.push_back(facts.group);
  }
  return groups;
}

inline bool comes_to(const std::function<bool()>& condition, base::Duration deadline = test::kLongPatience) {
  const base::Clock clock;
  const auto end = clock.now() + deadline;
  while (!condition()) {
    if (clock.now() > end) return false;
    clock.sleep(std::chrono::milliseconds(10));
  }
  return true;
}

inline bool group_is_gone(pid_t group) {
  return comes_to([&] { return !group_has_members(group); }, test::kPatience);
}

inline const char* tiny_program() {
  return R"(import torch
INPUTS = [((4,), (1,), torch.float32, "cpu"), ((4,), (1,), torch.float32, "cpu")]
def step(a0, a1):
    t0 = torch.ops.aten.mul.Tensor(a0, 0.9)
    torch.ops.aten.add_.Tensor(a1, t0, alpha=1)
    return (t0,)
)";
}

// Precompiled headers and the like, which take the compiler a quarter of a minute: made by the first service here that
// needs them.
inline const std::string& shared_headers() {
  static const test::TemporaryFolder folder;
  [[maybe_unused]] static const bool is_copied = [] {
    test::copy_kept_files(test::shared_worker_folder(), folder.path());
    return true;
  }();
  return folder.path();
}

// A service over a cache of its own.
struct Service {
  test::TemporaryFolder folder;
  PackageCache cache{storage::real_file_system(), {.folder = folder / "programs", .mac_key = user_key().value()}};
  CompilerSettings settings;
  std::optional<Compiler> compiler;

  Service() {
    settings.python = test_python();
    settings.restart_pause = std::chrono::milliseconds(20);
    ::umask(077);  // the worker refuses folders that a group may write to
    settings.headers_dir = shared_headers();
  }
  Compiler& start() { return compiler.emplace(settings, cache); }

  static CompileRequest request(int n) {
    CompileRequest made;
    made.source = fmt::format("{}# {}\n", tiny_program(), n);
    made.key = cache_key({made.source, "", "", "", 1, "", ""});
    return made;
  }

  // A job that fails at once, with this reason.
  static CompileRequest failing(int n, const std::string& reason = "as it should") {
    auto made = request(n);
    made.source += "raise RuntimeError('" + reason + "')\n";
    return made;
  }

  // An executable script in the folder.
  std::string script(const std::string& name, const std::string& text) {
    const std::string path = folder / name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
};

}  // namespace esper::program
