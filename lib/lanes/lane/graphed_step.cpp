#include "lanes/lane/graphed_step.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;

namespace {

constexpr std::int64_t kSampleEvery = 64;
constexpr auto kTimed = c10::EventFlag::BACKEND_DEFAULT;  // as in device/staging.cpp

}  // namespace

GraphedStep::Sample::Sample(c10::DeviceType type) : begin(type, kTimed), staged(type, kTimed), end(type, kTimed) {}

GraphedStep::GraphedStep(const Model& model, std::span<const Microbatch> example, torch::Device device, int warm_ups,
                         const Step& step, std::shared_ptr<GraphFigures> figures)
    : device_(device), figures_(std::move(figures)), sample_(device.type()) {
  for (const auto& [inputs, targets, goes_on] : example) {
    buffers_.push_back({inputs.clone(), targets.clone(), goes_on});
  }
  const StepSnapshot start(model, device);
  try {
    capture_ = std::make_unique<program::Capture>(device, [&] { step(buffers_); }, warm_ups);
  } catch (...) {
    start.restore();
    throw;
  }
  start.restore();
  figures_->capture_ms = capture_->capture_ms();
  ++figures_->captures;
}

void GraphedStep::stage(std::span<const Microbatch> microbatches) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i].inputs.copy_(microbatches[i].inputs, /*non_blocking=*/true);
    buffers_[i].targets.copy_(microbatches[i].targets, /*non_blocking=*/true);
  }
}

void GraphedStep::read_sample() {
  if (!sample_.taken || !sample_.end.query()) return;
  figures_->stage_copy_ms = sample_.begin.elapsedTime(sample_.staged);
  figures_->replay_ms = sample_.staged.elapsedTime(sample_.end);
  sample_.taken = false;
}

void GraphedStep::run(std::span<const Microbatch> microbatches) {
  const bool due = runs_++ % kSampleEvery == 0;
  if (due) read_sample();
  const bool sampled = due && !sample_.taken;
  const auto stream = device::current_stream(device_);
  if (sampled) sample_.begin.record(stream);
  stage(microbatches);
  if (sampled) sample_.staged.record(stream);
  capture_->replay();
  if (sampled) {
    sample_.end.record(stream);
    sample_.taken = true;
  }
  ++figures_->replays;
}

}  // namespace esper::lanes
