#include "jobs/job/job_states.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::job_states_test {

using namespace esper::jobs;

TEST_CASE("nothing leads out of success, and only a retry out of the other ends") {
  for (const auto& [from, from_name] : names(JobState{})) {
    for (const auto& [to, to_name] : names(JobState{})) {
      if (!is_terminal(from)) continue;
      CAPTURE(from_name, to_name);
      CHECK(may_move(from, to) == (from != JobState::kSucceeded && to == JobState::kQueued));
    }
  }
}

TEST_CASE("each state but held can be reached, and each one leads to an end") {
  for (const auto& [state, name] : names(JobState{})) {
    CAPTURE(name);
    bool is_reached = false, leads_on = is_terminal(state);
    for (const auto& [other, other_name] : names(JobState{})) {
      is_reached = is_reached || may_move(other, state);
      leads_on = leads_on || may_move(state, other);
    }
    CHECK(is_reached);
    CHECK(leads_on);
  }
  CHECK(is_active(JobState::kStarting));
  CHECK(!is_active(JobState::kPaused));
}

}  // namespace esper::test::job_states_test
