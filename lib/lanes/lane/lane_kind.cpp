#include "lanes/lane/lane_kind.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file_system.h"
#include "device/asynchronous_error.h"
#include "device/out_of_memory.h"
#include "lanes/lane/failure_text.h"

namespace esper::lanes {
namespace {

bool everywhere(torch::Device) { return true; }
bool on_cuda(torch::Device device) { return device.is_cuda(); }

constexpr std::array kKinds{
    LaneKind{config::Lane::kEager, "eager", false, false, everywhere, "", make_eager_lane},
    LaneKind{config::Lane::kReplay, "replay", true, false, everywhere, "", make_replay_lane},
    LaneKind{config::Lane::kGraph, "graph", true, false, on_cuda, "a CUDA graph needs device.kind: cuda",
             make_graph_lane},
    LaneKind{config::Lane::kCompiled, "compiled", true, true, everywhere, "", make_compiled_lane},
};

}  // namespace

std::span<const LaneKind> lane_kinds() { return kKinds; }

const LaneKind* find_kind(std::span<const LaneKind> kinds, config::Lane id) {
  const auto found = std::ranges::find(kinds, id, &LaneKind::id);
  return found == kinds.end() ? nullptr : &*found;
}

ExpectedLane make_lane(const LaneKind& kind, const LaneProgram& program, step::Model& model,
                       std::span<const step::Microbatch> example, const LaneSetup& setup) {
  using Cause = LaneFailure::Cause;
  if (!kind.available(setup.device)) {
    return base::failure(LaneFailure{Cause::kUnavailable, std::string(kind.needs)});
  }
  const auto failure = [&](Cause cause, const std::string& reason, bool of_memory) {
    return base::failure(LaneFailure{cause, reason, of_memory, kind.id});
  };
  try {
    return kind.make({program, model, example, setup});
  } catch (const base::IoError& error) {  // a full disk: the package may be good
    return failure(Cause::kResources, error.what(), false);
  } catch (const base::Error& error) {
    const bool of_memory = !device::out_of_memory_message(error).empty();
    const bool may_be_good = of_memory || device::is_asynchronous_error(error.what());
    const bool does_not_load = error.code() == base::ExitCode::kResources && !may_be_good;
    return failure(does_not_load ? Cause::kPackage : Cause::kResources, error.what(), of_memory);
  } catch (const std::exception& error) {  // most likely memory
    return failure(Cause::kResources, describe(error), !device::out_of_memory_message(error).empty());
  }
}

}  // namespace esper::lanes
