#include "audit.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "base/names.h"
#include "jobs/database/schema.h"
#include "jobs/job/job_states.h"

namespace esper::test {

Histories histories_of(const std::string& state_dir) {
  auto database = jobs::open_database(state_dir + "/jobs.db");
  auto rows = database.prepare("SELECT job, state FROM audit WHERE job IS NOT NULL ORDER BY id");
  Histories histories;
  while (rows.step()) {
    const auto state = base::from_name<jobs::JobState>(rows.text(1));
    REQUIRE(state);
    auto& history = histories[rows.integer(0)];
    if (history.empty() || history.back() != *state) history.push_back(*state);
  }
  return histories;
}

bool is_legal(const std::vector<jobs::JobState>& history) {
  if (history.empty() || (history[0] != jobs::JobState::kHeld && history[0] != jobs::JobState::kQueued)) return false;
  return std::ranges::adjacent_find(history, [](auto from, auto to) { return !jobs::may_move(from, to); }) ==
         history.end();
}

int times_ended(const std::vector<jobs::JobState>& history) {
  return static_cast<int>(std::ranges::count_if(history, jobs::is_terminal));
}

std::vector<jobs::JobId> submitted_in(const std::string& state_dir) {
  auto database = jobs::open_database(state_dir + "/jobs.db");
  auto rows = database.prepare("SELECT job FROM audit WHERE what = 'submit' ORDER BY id");
  std::vector<jobs::JobId> ids;
  while (rows.step()) ids.push_back(rows.integer(0));
  return ids;
}

}  // namespace esper::test
