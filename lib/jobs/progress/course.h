#pragma once
// A training's course, from the lines of its telemetry: its newest epochs and its seeds. One thread. Lines may hold
// anything: what is no packet of an epoch or of a seed is skipped, texts are made printable and shortened.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/progress/progress.h"

namespace esper::jobs {

class Course {
 public:
  // An epoch takes back those from its number on that came before it: a resumed run trains them again.
  void take(std::string_view line);

  // Grows with each line that changed something.
  std::uint64_t revision() const { return revision_; }
  // The epochs that were taken after that revision, and all else. Without what the telemetry does not have: job,
  // planned_epochs, metric.
  Progress since(std::uint64_t revision) const;

 private:
  struct Epoch {
    std::int64_t number = 0;
    std::uint64_t revision = 0;
    std::optional<double> training_loss{};
    std::map<std::string, double> validation{};
  };
  struct Seed {
    std::int64_t epoch = 0;  // in which it was reported
    SeedProgress progress{};
  };
  void add_epoch(Epoch epoch);
  void add_seed(std::int64_t epoch, SeedProgress seed);

  std::deque<Epoch> epochs_;           // of ascending numbers, at most kMostEpochsShown
  std::map<std::string, Seed> seeds_;  // by id, at most kMostSeedsShown
  std::string updated_;
  std::uint64_t revision_ = 0;
};

}  // namespace esper::jobs
