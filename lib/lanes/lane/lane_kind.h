#pragma once
// The table of lanes: name, availability, and the function that makes one. A new lane is one row of lane_kinds() and a
// file with its make function. Training thread.

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

// A package of the cache: a file, or already loaded by another lane.
struct PackageFile {
  std::string path;
  std::string key;
  std::string mac;  // program::CachedPackage::mac
};

// The inputs from which a lane is made.
struct LaneProgram {
  program::SymbolicProgram program;                                    // of the step, or for all batch sizes
  std::variant<std::monostate, PackageFile, LoadedProgram> package{};  // compiled from it
};

struct LaneFailure {
  enum class Cause {
    kUnavailable,  // not supported by this device or this program
    kCapture,      // the graph capture failed, which was reported
    kPackage,      // the package is damaged and does not load
    kResources,    // memory, disk or an error of the GPU; the inputs may be good
  };
  Cause cause = Cause::kUnavailable;
  std::string reason;
  bool of_memory = false;
  config::Lane lane{};  // that could not be made
};
using ExpectedLane = base::Expected<Lane, LaneFailure>;

// Whether a compiled program is captured as a CUDA graph, on a GPU: that saves the launches (docs/decisions/0038).
enum class CompiledPrograms { kCaptured, kAsTheyAre };

// What all lanes of a run share. `capture` must outlive the request, not the lane.
struct LaneSetup {
  torch::Device device;
  GraphCapture& capture;
  CompiledPrograms compiled = CompiledPrograms::kCaptured;
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
  bool has_program = true;    // false: it runs the step as written, unrecorded
  bool has_compiler = false;  // made from a package; false: from the recording, without a compiler
  bool (*available)(torch::Device) = nullptr;
  std::string_view needs{};  // what is missing if it is not available
  ExpectedLane (*make)(const LaneRequest&) = nullptr;
};

// All lanes, each expected to be faster than the one before.
std::span<const LaneKind> lane_kinds();

// The row of that id; null if the table has none.
const LaneKind* find_kind(std::span<const LaneKind> kinds, config::Lane id);

// Makes the lane, ready for its first step; the model is unchanged. Exceptions are converted to the failure.
ExpectedLane make_lane(const LaneKind& kind, const LaneProgram& program, step::Model& model,
                       std::span<const step::Microbatch> example, const LaneSetup& setup);

// The make functions of the rows, one file each.
ExpectedLane make_eager_lane(const LaneRequest& request);
ExpectedLane make_replay_lane(const LaneRequest& request);
ExpectedLane make_graph_lane(const LaneRequest& request);
ExpectedLane make_compiled_lane(const LaneRequest& request);

}  // namespace esper::lanes
