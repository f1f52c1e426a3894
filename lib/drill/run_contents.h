#pragma once
// What a training made, read back from its run folder: nothing in it depends on the clock or on how many processes the
// training took. Any thread.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace esper::drill {

// What one epoch reported: its figures, and the events of its end in their order, each as one line of JSON.
struct EpochReports {
  std::string figures;  // losses, accuracies and the gradient norm, with all digits; empty: not reported
  std::vector<std::string> events;
};

struct RunContents {
  std::string checkpoint;  // the name of the newest
  std::string tensors;     // the path of its tensors
  nlohmann::json cursor;   // the progress that it keeps, without wall time
  nlohmann::json topology, controller;
  nlohmann::json outcome;  // of summary.json: what was trained, and what came out
  std::map<std::uint32_t, EpochReports> epochs;
  std::vector<std::string> contradictions;  // where processes of the run reported different figures of one epoch
};

// Throws Error{kCheckpoint} where the run has no checkpoint or no summary that can be read, and IoError.
RunContents read_contents(const std::string& run);

}  // namespace esper::drill
