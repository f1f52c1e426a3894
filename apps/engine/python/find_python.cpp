#include "engine/python/find_python.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/text/child_process.h"
#include "engine/python/python_start.h"

namespace esper::engine {
namespace {

constexpr std::chrono::seconds kPythonDeadline{10}, kPythonEnd{5};
constexpr char kProbe[] =
    "import importlib.util, platform; print(platform.python_version(), int(importlib.util.find_spec('torch') is not "
    "None))";

constexpr char kWayOut[] = "run scripts/bootstrap, or set ESPER_PYTHON to one with torch";

bool is_named() {
  const char* named = std::getenv("ESPER_PYTHON");
  return named != nullptr && *named != '\0';
}

// Absolute: it is started in another folder than this process's.
std::string candidate() {
  std::error_code ignored;
  return std::filesystem::absolute(is_named() ? std::getenv("ESPER_PYTHON") : ESPER_PRIVATE_PYTHON, ignored).string();
}

// What the program prints until it ends; nothing if it cannot be started, fails, or takes too long.
std::optional<std::string> output_of(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addchdir_np(&actions, kNeutralFolder);
  char* const arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>("-I"), const_cast<char*>("-c"),
                             const_cast<char*>(kProbe), nullptr};
  PythonEnvironment environment;
  pid_t child = 0;
  const int failure = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environment.pointers());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  const auto deadline = std::chrono::steady_clock::now() + kPythonDeadline;
  while (failure == 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waiting{ends[0], POLLIN, 0};
    char block[256];
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) break;
    const ssize_t got = read(ends[0], block, sizeof block);
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (failure != 0) return std::nullopt;
  if (const auto status = base::await_child(child, deadline - std::chrono::steady_clock::now())) {
    return WIFEXITED(*status) && WEXITSTATUS(*status) == 0 ? std::optional(text) : std::nullopt;
  }
  kill(child, SIGKILL);
  base::await_child(child, kPythonEnd);
  return std::nullopt;
}

}  // namespace

std::string python_candidate() {
  std::error_code ignored;
  const std::string path = candidate();
  return std::filesystem::exists(path, ignored) ? path : "";
}

PythonFacts find_python() {
  const std::string path = candidate();
  const std::string whose = is_named() ? "set by ESPER_PYTHON" : "of scripts/bootstrap";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return {"", "", false, fmt::format("no Python at {}, {}; {}", path, whose, kWayOut)};
  }
  const auto text = output_of(path);
  const auto blank = text ? text->find(' ') : std::string::npos;
  if (blank == std::string::npos) {
    return {path, "", false, fmt::format("{}, {}, does not run as Python; {}", path, whose, kWayOut)};
  }
  PythonFacts facts{path, text->substr(0, blank), (*text)[blank + 1] == '1', ""};
  if (!facts.has_torch) facts.problem = fmt::format("the Python at {}, {}, has no torch; {}", path, whose, kWayOut);
  return facts;
}

}  // namespace esper::engine
