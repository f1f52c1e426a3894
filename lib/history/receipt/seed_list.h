#pragma once
// The seeds that a run can print a receipt of. Any thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "history/receipt/receipt.h"

namespace esper::history {

struct ListedSeed {
  std::string seed_id, slot, blueprint;
  Receipt::Outcome outcome = Receipt::Outcome::kGrowing;
  leyline::Stage stage = leyline::Stage::kUnknown;  // the last one with a module
  RunPlace from;                                    // of its first record
  std::optional<RunPlace> ended;                    // fossilised or culled
  std::uint32_t epochs = 0;                         // from there to its end, or to the newest record
};

struct SeedList {
  std::vector<ListedSeed> seeds;  // in the order in which they came
  std::vector<std::string> gaps;  // what could not be read
};

// Those of the runs that a fork goes back to are among them, without those that a fork left out. Throws as
// read_run_history(); needs memory as read_receipt() does for records.
SeedList read_seed_list(const std::filesystem::path& run);

}  // namespace esper::history
