#pragma once
// Whole runs that compile: a cache folder of their own, the processes that belong to it, compilers that misbehave.

#include <functional>

#include "integration/lanes/python_with_torch.h"
#include "integration/run/run_record.h"
#include "integration/run/run_room.h"

namespace esper::test {

struct LaneRunRoom : RunRoom {
  LaneRunRoom();

  std::filesystem::path cache() const { return path / "cache"; }
  // ESPER_CACHE and whatever comes on top.
  Words environment(const Words& more = {}) const;
  // An executable shell script in the room. It answers as g++ does when asked for its version.
  std::string compiler(const std::string& otherwise) const;
  // Command line of a short run of the reference configuration.
  Words command(const std::string& run, const std::string& lane, const Words& assignments = {}) const;
  Finished train(const std::string& run, const std::string& lane, const Words& environment = {},
                 const Words& assignments = {}) const;
  // Processes that were started with this room's cache folder: the worker, its jobs, compilers.
  std::vector<pid_t> workers() const;
  // Waits for their end.
  bool workers_are_gone() const;
  // The files of cached programs.
  std::vector<std::filesystem::path> entries() const;

  std::string config;
};

// For runs that compile: their cache starts with what the worker has made once on this machine.
struct CompilingRoom : LaneRunRoom {
  CompilingRoom();
  ~CompilingRoom();
};

bool comes_to(const std::function<bool()>& condition, std::chrono::milliseconds deadline);

// What a run reported of lanes and compilations that failed. Fails the test where one is reported as more than a
// warning.
struct ReportedFailure {
  std::string event, kind, reason;
};
std::vector<ReportedFailure> failures_of(const std::filesystem::path& run);

}  // namespace esper::test
