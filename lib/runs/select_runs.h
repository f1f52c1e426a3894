#pragma once
// Which records a list shows, and in which order. Pure functions; any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runs/run_record.h"

namespace esper::runs {

// kBest, kLast: by the run's metric, the better first; runs of other metrics after one another, by the metric's name.
enum class SortKey { kStarted, kName, kState, kEpochs, kBest, kLast, kDuration, kBytes };
constexpr auto names(SortKey) {
  using K = SortKey;
  return std::array{std::pair{K::kStarted, "started"},   std::pair{K::kName, "name"},  std::pair{K::kState, "state"},
                    std::pair{K::kEpochs, "epochs"},     std::pair{K::kBest, "best"},  std::pair{K::kLast, "last"},
                    std::pair{K::kDuration, "duration"}, std::pair{K::kBytes, "bytes"}};
}

struct Selection {
  std::vector<RunState> states{};            // empty: all
  std::string name_pattern{};                // of base::fits_pattern(); empty: all
  std::optional<std::int64_t> written_ms{};  // runs that a process wrote to since
  SortKey sort = SortKey::kStarted;  // names and states from A to Z, figures the better first, all else the larger
  std::size_t limit = 0;             // 0: none
};

bool fits(const RunRecord& record, const Selection& selection);

// Those that fit, sorted, at most as many as the limit says. What has no value for the sort key comes last.
std::vector<RunRecord> select_runs(std::vector<RunRecord> records, const Selection& selection);

}  // namespace esper::runs
