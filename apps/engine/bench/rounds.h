#pragma once
// Rows take turns, so that whatever else the machine does meets all of them alike.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/statistics.h"

namespace esper::engine::bench {

// Something whose steps can be timed.
struct Contender {
  std::string name;
  // Runs so many steps and appends the microseconds of each. Throws std::exception when it can no longer.
  std::function<void(int steps, std::vector<double>& out_us)> run;
  double warmup_ms = 0;  // what it took to make it ready
};

struct Row {
  std::string name;
  double warmup_ms = 0;
  std::vector<double> step_us;        // of every timed step
  std::vector<double> round_medians;  // one for each round, microseconds
  std::string failure;                // why it fell out; empty: it ran to the end
};

struct Plan {
  int rounds = 21;
  double round_ms = 12;                               // each row's share of one round, about
  std::function<void(int done, int total)> progress;  // may be empty
};

// Who is first rotates from round to round. The rows come in the order of the contenders.
std::vector<Row> take_turns(const std::vector<Contender>& contenders, const Plan& plan);

// Time of `a` over time of `b`, over the rounds that both finished. Both have at least one.
base::RatioEstimate ratio(const Row& a, const Row& b);

}  // namespace esper::engine::bench
