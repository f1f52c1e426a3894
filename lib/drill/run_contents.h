#pragma once
// What a training made, read back from its run folder: nothing in it depends on the clock or on how many processes the
// training took. Any thread.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace esper::drill {

// What one epoch reported, each as one line of JSON, in order.
struct EpochReports {
  // Its metrics that follow from the training, with labels and all digits: without times, memory, lanes and what is
  // counted by the process. Empty: not reported.
  std::vector<std::string> figures;
  std::vector<std::string> events;  // of its end: decisions, growth, failures
};

// The first line in which they differ, as text; empty: in none.
std::string first_difference(const std::vector<std::string>& reference, const std::vector<std::string>& other);

struct RunContents {
  std::string checkpoint;  // the name of the newest
  std::string tensors;     // the path of its tensors
  nlohmann::json cursor;   // the progress that it keeps, without measured times
  nlohmann::json topology, controller;
  nlohmann::json outcome;  // of summary.json: what was trained, and what came out
  std::map<std::uint32_t, EpochReports> epochs;
  std::vector<std::string> contradictions;  // where processes of the run reported different figures of one epoch
};

// Throws Error{kCheckpoint} where the run has no checkpoint or no summary that can be read, and IoError.
RunContents read_contents(const std::string& run);

}  // namespace esper::drill
