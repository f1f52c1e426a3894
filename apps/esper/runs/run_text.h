#pragma once
// Records of runs as text. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runs/run_record.h"

namespace esper {

// "98 kB", "1.2 GB".
std::string bytes_text(std::uint64_t bytes);
// "0.1 s", "4 min 05 s", "2 h 10 min"; "-" for nothing.
std::string duration_text(std::optional<double> seconds);
// Four decimals, of large ones four digits; "-" for nothing.
std::string figure_text(std::optional<double> figure);
// "3/90"
std::string epochs_text(const runs::RunRecord& record);
// Without what is the same for all: one line for each run, under a heading.
std::string run_table(const std::vector<runs::RunRecord>& records);
// All that is known, one line for each item.
std::string run_page(const runs::RunRecord& record);
nlohmann::ordered_json record_json(const runs::RunRecord& record);
nlohmann::ordered_json records_json(const std::vector<runs::RunRecord>& records);

}  // namespace esper
