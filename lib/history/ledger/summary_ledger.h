#pragma once
// The account of time in a run's summary.json, which the run's last process wrote. Any thread.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/ledger/owner.h"

namespace esper::history {

using OwnerMs = std::array<double, base::kNumOwners>;

struct SummaryLedger {
  std::string from, until;
  OwnerMs ms{};
  double wall_ms = 0;
  std::string status;
  std::optional<std::int64_t> skipped_steps, steps;

  bool has_times_of_day() const;
  bool covers(const std::string& timestamp) const {
    return has_times_of_day() && from <= timestamp && timestamp <= until;
  }
};

// Empty where there is none. Adds to `gaps` what keeps it from being read. Throws storage::UnsafePath.
SummaryLedger read_summary_ledger(const std::filesystem::path& path, std::vector<std::string>& gaps);

}  // namespace esper::history
