#pragma once
// To whom the training thread's time belongs.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace esper::base {

enum class Owner : std::uint8_t {
  kCompute,     // steps, and waiting for the device to finish them
  kTransfer,    // copies to the device
  kLoaderWait,  // until the next training batch is there
  kCompile,     // recording, capturing, loading or checking a program
  kPolicy,      // policy decisions and their commands
  kTelemetry,   // reading the epoch's figures, building packets and handing them over
  kCheckpoint,  // copying the state, and waiting for it to be written
  kRollback,    // going back to an earlier state
  kValidation,  // validation passes, their batches included
  kControl,     // training and validating a seed's control; a part of kValidation where only ten owners are reported
  kIdle,        // everything else
  kStartUp,     // from the start of the process to the first epoch; a part of kIdle where only ten owners are reported
};
constexpr auto names(Owner) {
  using O = Owner;
  return std::array{std::pair{O::kCompute, "compute"},
                    std::pair{O::kTransfer, "transfer"},
                    std::pair{O::kLoaderWait, "loader_wait"},
                    std::pair{O::kCompile, "compile"},
                    std::pair{O::kPolicy, "policy"},
                    std::pair{O::kTelemetry, "telemetry"},
                    std::pair{O::kCheckpoint, "checkpoint"},
                    std::pair{O::kRollback, "rollback"},
                    std::pair{O::kValidation, "validation"},
                    std::pair{O::kControl, "control"},
                    std::pair{O::kIdle, "idle"},
                    std::pair{O::kStartUp, "start_up"}};
}
constexpr std::size_t kNumOwners = names(Owner{}).size();

using OwnerTimes = std::array<std::chrono::nanoseconds, kNumOwners>;
using OwnerTicks = std::array<std::uint64_t, kNumOwners>;  // of a TickClock

constexpr std::size_t index_of(Owner owner) { return static_cast<std::size_t>(owner); }

}  // namespace esper::base
