#include "lanes/evaluation_forward.h"

#include <ATen/Context.h>

#include <algorithm>

#include "base/fault.h"
#include "lanes/lane/failure_text.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using LaneId = config::Lane;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// Larger ones are copied at more expense than their forward's calls are queued, and have no room to be there twice.
constexpr std::size_t kMostOutput = std::size_t{32} << 20;

bool has_form(const torch::Tensor& tensor, const TensorForm& form) {
  return tensor.sizes() == form.sizes && tensor.strides() == form.strides && tensor.scalar_type() == form.type;
}

TensorForm form_of(const torch::Tensor& tensor) {
  return {tensor.sizes().vec(), tensor.strides().vec(), tensor.scalar_type()};
}

// The replay has eager's bits, but on a GPU where cuDNN chooses kernels by timing them: there, this much of its size.
bool agree(const torch::Tensor& eager, const torch::Tensor& replayed) {
  constexpr double kOtherKernels = 3e-2;
  if (at::equal(eager, replayed)) return true;
  if (eager.is_cpu() || at::globalContext().deterministicCuDNN()) return false;
  const torch::Tensor difference = at::linalg_vector_norm(eager.sub(replayed)), size = at::linalg_vector_norm(eager);
  return difference.le(size.mul(kOtherKernels)).item<bool>();
}

}  // namespace

EvaluationForward::EvaluationForward(const step::Model& model, const config::StepConfig& config, torch::Device device,
                                     std::function<void(leyline::TelemetryEvent)> emit)
    : model_(model),
      lane_(config.lane),
      device_(device),
      emit_(std::move(emit)),
      capture_("validation", config.graph.warmup_batches, emit_) {}

torch::Tensor EvaluationForward::operator()(const torch::Tensor& inputs) {
  if (lane_ == LaneId::kEager) return run_eager(inputs);
  Shape& shape = shape_of(inputs);
  switch (shape.phase) {
    case Shape::Phase::kNew:
      return run_first(shape, inputs);
    case Shape::Phase::kSeen:
      return record(shape, inputs);
    case Shape::Phase::kRecorded:
      return compare(shape, inputs);
    case Shape::Phase::kReplayed:
      return replay(shape, inputs);
    case Shape::Phase::kEager:
      break;
  }
  return run_eager(inputs);
}

EvaluationForward::Shape& EvaluationForward::shape_of(const torch::Tensor& inputs) {
  take_structure();
  const auto known = std::ranges::find_if(shapes_, [&](const Shape& shape) { return has_form(inputs, shape.inputs); });
  return known != shapes_.end() ? *known : shapes_.emplace_back(Shape{.inputs = form_of(inputs)});
}

void EvaluationForward::take_structure() {
  if (structure_ == model_.network.structure_version()) return;
  structure_ = model_.network.structure_version();
  shapes_.clear();
  capture_.forget_failures();
}

torch::Tensor EvaluationForward::run_first(Shape& shape, const torch::Tensor& inputs) {
  torch::Tensor output = run_eager(inputs);
  shape.output = form_of(output);
  shape.phase = output.nbytes() > kMostOutput ? Shape::Phase::kEager : Shape::Phase::kSeen;
  return output;
}

torch::Tensor EvaluationForward::run_eager(const torch::Tensor& inputs) {
  ++batches_[static_cast<std::size_t>(LaneId::kEager)];
  return model_.network.forward(inputs, kasmina::Mode::kEvaluate);
}

torch::Tensor EvaluationForward::record(Shape& shape, const torch::Tensor& inputs) {
  try {
    const auto& [sizes, strides, type] = shape.output;
    const torch::Tensor output = at::empty_strided(sizes, strides, inputs.options().dtype(type));
    auto recorded = ReplayedForward::record(model_, inputs, output);
    if (base::fault::hit("lanes.recording")) recorded = base::failure("fault point lanes.recording");
    if (recorded) {
      shape.replayed = std::move(*recorded);
      shape.phase = Shape::Phase::kRecorded;
      ++batches_[static_cast<std::size_t>(LaneId::kEager)];
      return output.clone();
    }
    refuse(shape, recorded.error());
    ++batches_[static_cast<std::size_t>(LaneId::kEager)];
    return output;
  } catch (const std::exception& error) {
    refuse(shape, describe(error));
  }
  return run_eager(inputs);
}

torch::Tensor EvaluationForward::compare(Shape& shape, const torch::Tensor& inputs) {
  torch::Tensor eager = run_eager(inputs);
  if (!at::isfinite(eager).all().item<bool>()) return eager;  // equal to nothing, not to itself
  try {
    if (lane_ != LaneId::kReplay && capture_.may(device_)) shape.replayed->capture(capture_, device_);
    if (agree(eager, shape.replayed->run(inputs))) {
      shape.phase = Shape::Phase::kReplayed;
    } else {
      refuse(shape, "it does not have eager's output");
    }
  } catch (const std::exception& error) {
    refuse(shape, describe(error));
  }
  return eager;
}

torch::Tensor EvaluationForward::replay(Shape& shape, const torch::Tensor& inputs) {
  const LaneId lane = shape.replayed->is_graph() ? LaneId::kGraph : LaneId::kReplay;
  ++batches_[static_cast<std::size_t>(lane)];
  return shape.replayed->run(inputs).clone();
}

void EvaluationForward::refuse(Shape& shape, const std::string& reason) const {
  const std::string lane = shape.replayed != nullptr && shape.replayed->is_graph() ? "graph" : "replay";
  shape.phase = Shape::Phase::kEager;
  shape.replayed.reset();
  emit_(event("tolaria.lane_refused"_event, Level::kWarning, {{"lane", lane}, {"reason", "validation: " + reason}}));
}

}  // namespace esper::lanes
