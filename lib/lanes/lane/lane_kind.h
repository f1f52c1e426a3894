#pragma once
// What there is to know of a lane: its name, where it can be had, and how one is made. A new lane is one row of
// lane_kinds() and a file with its make function. Training thread.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/expected.h"
#include "lanes/lane/graph_capture.h"
#include "lanes/lane/lane.h"
#include "program/symbolic.h"

namespace esper::lanes {

// A package of the cache: a file, or loaded by another lane already.
struct PackageFile {
  std::string path;
  std::string key;
};

// What a lane is made of.
struct LaneProgram {
  program::SymbolicProgram program;                                    // of the step, or for all batch sizes
  std::variant<std::monostate, PackageFile, LoadedProgram> package{};  // compiled from it
};

struct LaneFailure {
  enum class Cause {
    kUnavailable,  // not on this device, or not of this program
    kCapture,      // the device did not take the graph; it was reported
    kPackage,      // the package does not load: it is damaged
    kResources,    // memory or disk; what it is made of may be good
  };
  Cause cause = Cause::kUnavailable;
  std::string reason;
  bool of_memory = false;
  config::Lane lane{};  // that was to be made
};
using ExpectedLane = base::Expected<Lane, LaneFailure>;

// What all lanes of a run have in common. `capture` outlives the request, not the lane.
struct LaneSetup {
  torch::Device device;
  config::CompileMode mode = config::CompileMode::kDefault;
  GraphCapture& capture;
};

struct LaneRequest {
  const LaneProgram& program;
  step::Model& model;
  std::span<const step::Microbatch> example;
  const LaneSetup& setup;
};

struct LaneKind {
  config::Lane id = config::Lane::kEager;
  std::string_view name;
  bool has_program = true;    // false: it runs the step as it is written, unrecorded
  bool has_compiler = false;  // made of a package; else of the recording, at once
  bool (*available)(torch::Device) = nullptr;
  std::string_view needs{};  // what is missing where it is not available
  ExpectedLane (*make)(const LaneRequest&) = nullptr;
};

// The lanes that there are, each expected to be faster than the one before.
std::span<const LaneKind> lane_kinds();

// The row of that id; null where the table has none.
const LaneKind* find_kind(std::span<const LaneKind> kinds, config::Lane id);

// The lane, ready to run its first step; the model is as before. What is thrown on the way becomes the failure.
ExpectedLane make_lane(const LaneKind& kind, const LaneProgram& program, step::Model& model,
                       std::span<const step::Microbatch> example, const LaneSetup& setup);

// The rows' functions, one file each.
ExpectedLane make_eager_lane(const LaneRequest& request);
ExpectedLane make_replay_lane(const LaneRequest& request);
ExpectedLane make_graph_lane(const LaneRequest& request);
ExpectedLane make_compiled_lane(const LaneRequest& request);

}  // namespace esper::lanes
