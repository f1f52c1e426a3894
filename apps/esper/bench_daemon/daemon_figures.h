#pragma once
// What a measurement of the daemon found, as text and JSON. Pure functions.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace esper {

// Times in milliseconds, in the order in which they were taken.
struct Times {
  std::string what{};  // "submit, empty queue"
  std::vector<double> ms{};
};

// Of a process that has nothing to do.
struct Idle {
  std::string program{};
  double resident_mib = 0;
  double wakeups_per_minute = 0;
  int processes = 1;  // that hold the memory
};

// From the command on.
struct TimedTraining {
  double seconds = 0;   // to its end
  double start_ms = 0;  // to its first step
};

struct DaemonFigures {
  std::string commit{};
  int queue_length = 0;  // of the full queue
  std::vector<Times> times{};
  std::size_t list_bytes = 0;  // of the answer with the whole queue
  double resident_with_queue_mib = 0;
  std::vector<TimedTraining> queued{}, alone{};  // the same training through the queue and alone, pair by pair
  std::vector<Idle> idle{};
  double idle_s = 0;                 // that was looked at
  std::vector<std::string> notes{};  // what was not measured, and why; what has to be known beside a figure
};

// Median over the pairs of what the queue adds to the time until a training's first step, in milliseconds.
double start_overhead_ms(const DaemonFigures& figures);

nlohmann::ordered_json json_of(const DaemonFigures& figures);
std::string text_of(const DaemonFigures& figures);

}  // namespace esper
