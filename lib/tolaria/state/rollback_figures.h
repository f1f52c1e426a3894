#pragma once
// What a process counts of a run's returns to earlier states. Plain data.

#include <cstdint>

namespace esper::tolaria {

struct RollbackFigures {
  std::int64_t snapshots = 0, hits = 0;
  std::int64_t misses = 0;      // there was no state in memory; the run goes on from a checkpoint, if there is one
  std::int64_t failures = 0;    // there was no checkpoint either
  std::int64_t late = 0;        // took longer than safety.rollback_deadline
  std::int64_t size_bytes = 0;  // in memory now
  double snapshot_ms = 0;       // that the last snapshot took
  double latency_ms = 0;        // of the last rollback
  bool operator==(const RollbackFigures&) const = default;
};

}  // namespace esper::tolaria
