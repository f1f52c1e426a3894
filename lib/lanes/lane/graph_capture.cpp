#include "lanes/lane/graph_capture.h"

#include <string>

#include "base/fault.h"
#include "device/out_of_memory.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// The graph of the whole step and that of the epoch's shorter last one may each fail by chance; further failures are
// the network's.
constexpr std::int64_t kMostFailures = 2;
// Memory may be there again.
constexpr std::int64_t kMostLacksOfMemory = 6;

}  // namespace

bool GraphCapture::may(torch::Device device) const {
  return device.is_cuda() && failures_ < kMostFailures && lacks_of_memory_ < kMostLacksOfMemory;
}

template <class Make>
auto GraphCapture::attempt(torch::Device device, const Make& make) -> decltype(make()) {
  try {
    if (base::fault::hit("lanes.capture")) throw program::CaptureFailure("capture", "fault point lanes.capture");
    if (base::fault::hit("lanes.capture_memory")) throw program::CaptureFailure("capture", "CUDA out of memory");
    return make();
  } catch (const program::CaptureFailure& failure) {
    ++figures_->failures;
    ++(device::out_of_memory_message(failure).empty() ? failures_ : lacks_of_memory_);
    const std::string failures = std::to_string(failures_ + lacks_of_memory_);
    emit_(event("tolaria.graph_fallback"_event, Level::kWarning,
                {{"of", of_},
                 {"error", "capture_failed"},
                 {"message", failure.what()},
                 {"stage", failure.stage},
                 {"failures", failures}}));
    if (!may(device)) {
      emit_(
          event("tolaria.graph_disabled_after_failures"_event, Level::kWarning, {{"of", of_}, {"failures", failures}}));
    }
    return nullptr;
  }
}

std::shared_ptr<GraphedStep> GraphCapture::capture(const step::Model& model, std::span<const step::Microbatch> example,
                                                   torch::Device device, const GraphedStep::Step& step) {
  return attempt(device,
                 [&] { return std::make_shared<GraphedStep>(model, example, device, warm_ups_, step, figures_); });
}

std::unique_ptr<program::Capture> GraphCapture::capture(torch::Device device, const std::function<void()>& function) {
  return attempt(device, [&] { return std::make_unique<program::Capture>(device, function, warm_ups_); });
}

}  // namespace esper::lanes
