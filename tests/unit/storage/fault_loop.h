#pragma once
// "Fail the n-th call, for n = 1, 2, 3, ... until nothing fails": every way in which one operation can be interrupted.

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <functional>
#include <string>

#include "support/faults/faulty_file_system.h"

namespace esper::test {

enum class Outcome { kDone, kFailed, kKilled };

struct FaultScenario {
  std::function<void(FaultyFileSystem&)> prepare;
  std::function<void(FaultyFileSystem&)> act;
  std::function<void(FaultyFileSystem&, Outcome)> check;  // runs in a new process, after every kind of fault
};

inline Outcome outcome_of(const FaultScenario& scenario, FaultyFileSystem& files) {
  try {
    scenario.act(files);
    return Outcome::kDone;
  } catch (const base::IoError&) {
    return Outcome::kFailed;
  } catch (const ProcessKilled&) {
    return Outcome::kKilled;
  }
}

inline std::string name_of(Outcome outcome) {
  return outcome == Outcome::kDone ? "done" : outcome == Outcome::kFailed ? "failed" : "killed";
}

// Runs until the first n that is never reached; returns it. `end` makes what follows the operation.
inline int run_until_untouched(const FaultScenario& scenario, const std::function<void(FaultyFileSystem&, int)>& arm,
                               const std::function<void(FaultyFileSystem&, int)>& end) {
  for (int n = 1;; ++n) {
    FaultyFileSystem files;
    scenario.prepare(files);
    arm(files, n);
    const Outcome outcome = outcome_of(scenario, files);
    const bool happened = files.fault_happened();
    end(files, n);
    INFO("call " << n << ", " << name_of(outcome));
    scenario.check(files, outcome);
    if (!happened) {
      REQUIRE(outcome == Outcome::kDone);
      return n;
    }
  }
}

// One call fails and the process goes on, then ends, with and without a power loss.
inline void fail_every_call(const FaultScenario& scenario) {
  for (const int error_number : {EIO, ENOSPC, EDQUOT, EMFILE}) {
    const auto arm = [&](FaultyFileSystem& files, int n) { files.fail_call(n, error_number); };
    INFO("errno " << error_number);
    CHECK(run_until_untouched(scenario, arm, [](FaultyFileSystem& files, int) { files.restart(); }) > 3);
    run_until_untouched(scenario, arm, [](FaultyFileSystem& files, int n) {
      files.lose_power(PowerLoss::kReorder, static_cast<std::uint64_t>(n));
    });
  }
}

inline void kill_at_every_call(const FaultScenario& scenario) {
  const auto arm = [](FaultyFileSystem& files, int n) { files.kill_at_call(n); };
  CHECK(run_until_untouched(scenario, arm, [](FaultyFileSystem& files, int) { files.restart(); }) > 3);
}

inline void lose_power_at_every_call(const FaultScenario& scenario) {
  const auto arm = [](FaultyFileSystem& files, int n) { files.kill_at_call(n); };
  for (const auto what : {PowerLoss::kDropAll, PowerLoss::kKeepEntries}) {
    INFO("power loss " << static_cast<int>(what));
    run_until_untouched(scenario, arm, [&](FaultyFileSystem& files, int) { files.lose_power(what); });
  }
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    INFO("power loss with reordering, seed " << seed);
    run_until_untouched(scenario, arm,
                        [&](FaultyFileSystem& files, int) { files.lose_power(PowerLoss::kReorder, seed); });
  }
}

}  // namespace esper::test
