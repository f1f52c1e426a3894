#pragma once
// Jobs as text. Pure functions; nothing of a job can steer the terminal.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper {

struct TableStyle {
  std::int64_t now_ms = 0;                         // since the UNIX epoch
  std::size_t columns = 0;                         // of the terminal; 0: as long as they are
  bool has_colours = false;                        // of the states
  std::map<std::int64_t, std::string> progress{};  // by job: "epoch 3"
};

// One line for each job of a list as the daemon gives it, under a line of titles.
std::string job_table(const nlohmann::json& jobs, const TableStyle& style);
// "job 3 running digits: reason"
std::string job_line(const nlohmann::json& job);
// All that is known of one job. epochs: how far its training has come, which the daemon's answer does not have.
std::string job_details(const nlohmann::json& job, const std::string& epochs);

// "45 s", "12 min", "3 h 20 min", "5 d 2 h"
std::string span_text(std::int64_t ms);

}  // namespace esper
