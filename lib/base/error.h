#pragma once
// How Esper fails: one exception type for what ends a command, a check for our own bugs. Any thread.

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace esper::base {

// The process's exit status (docs/runbook.md lists them for users).
enum class ExitCode : int {
  kDone = 0,
  kConfig = 2,
  kData = 3,
  kDiverged = 4,
  kCheckpoint = 5,
  kResources = 6,
  kPolicy = 7,
  kBug = 70,
  kTryAgain = 75,
  kHungUp = 129,
  kInterrupted = 130,
  kTerminated = 143,
};
constexpr auto names(ExitCode) {
  using C = ExitCode;
  return std::array{std::pair{C::kDone, "done"},
                    std::pair{C::kConfig, "config"},
                    std::pair{C::kData, "data"},
                    std::pair{C::kDiverged, "diverged"},
                    std::pair{C::kCheckpoint, "checkpoint"},
                    std::pair{C::kResources, "resources"},
                    std::pair{C::kPolicy, "policy"},
                    std::pair{C::kBug, "bug"},
                    std::pair{C::kTryAgain, "try_again"},
                    std::pair{C::kHungUp, "hung_up"},
                    std::pair{C::kInterrupted, "interrupted"},
                    std::pair{C::kTerminated, "terminated"}};
}

// Thrown at the edge where a command cannot go on; caught once, in main. The text is for the user: what, where, the way
// out.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Throws Error{kBug} with the place. Never reachable from a user's input.
[[noreturn]] void fail_check(std::string_view condition, std::string_view message, std::string_view file, int line);

}  // namespace esper::base

#define ESPER_CHECK(condition, message)                                                   \
  do {                                                                                    \
    if (!(condition)) ::esper::base::fail_check(#condition, message, __FILE__, __LINE__); \
  } while (false)
