#include "tolaria/safety/step_recorder.h"

#include <ATen/core/Tensor.h>

#include <limits>

#include "device/rng.h"

namespace esper::tolaria {

using history::BlackBoxKind;
using history::BlackBoxRecord;
using step::Microbatch;

StepRecorder::Sums StepRecorder::sums() const {
  if (!state_.device.is_cpu()) return {};
  const auto* figures = state_.metrics.sums.const_data_ptr<double>();
  return {figures[step::kLoss], figures[step::kGradientNorm], figures[step::kFinite],
          state_.metrics.counts.const_data_ptr<std::int64_t>()[1]};
}

void StepRecorder::begin_step() {
  before_ = sums();
  rng_ = device::cpu_generator_fingerprint();
  begun_ = facts_.clock.now();
}

BlackBoxRecord StepRecorder::new_record(BlackBoxKind kind) const {
  BlackBoxRecord record;
  record.kind = kind;
  record.step = progress_.step;
  record.epoch = progress_.epoch + 1;
  record.wall_ns = facts_.clock.wall().count();
  return record;
}

BlackBoxRecord StepRecorder::record_of(std::span<const Microbatch> microbatches) const {
  BlackBoxRecord record = new_record(BlackBoxKind::kStep);
  record.of_step.first_batch = progress_.batch;
  record.of_step.microbatches = static_cast<std::int32_t>(microbatches.size());
  for (const Microbatch& microbatch : microbatches) record.of_step.samples += microbatch.inputs.size(0);
  return record;
}

void StepRecorder::set_figures(BlackBoxRecord& record) const {
  if (!state_.device.is_cpu()) return;
  const Sums now = sums();
  record.flags |= history::kHasFigures;
  record.of_step.loss = (now.loss - before_.loss) / static_cast<double>(now.targets - before_.targets);
  // Norms that are not finite are in no sum.
  const bool has_norm = now.finite > before_.finite;
  record.of_step.gradient_norm = has_norm ? now.norms - before_.norms : std::numeric_limits<double>::quiet_NaN();
}

void StepRecorder::end_step(std::span<const Microbatch> microbatches, double learning_rate, StepLane lane) {
  BlackBoxRecord record = record_of(microbatches);
  record.flags = history::kHasRng;
  set_figures(record);
  record.of_step.duration_ns = (facts_.clock.now() - begun_).count();
  record.of_step.learning_rate = learning_rate;
  record.of_step.lane = static_cast<std::uint32_t>(lane.lane);
  record.of_step.bits = lane.bits;
  record.of_step.rng = rng_;
  black_box_->add(record);
}

void StepRecorder::pass_over(std::span<const Microbatch> microbatches) {
  if (black_box_ == nullptr) return;
  BlackBoxRecord record = record_of(microbatches);
  record.flags = history::kPassedOver;
  black_box_->add(record);
}

void StepRecorder::end_epoch(const step::StepMetrics& metrics, const TrainedEpoch& trained) {
  if (black_box_ == nullptr) return;
  BlackBoxRecord record = new_record(BlackBoxKind::kEpochEnd);
  record.flags = history::kHasFigures;
  record.of_step.duration_ns = static_cast<std::int64_t>(trained.train_ms * 1e6);
  record.of_step.samples = trained.samples;
  record.of_step.loss = metrics.loss;
  record.of_step.gradient_norm = metrics.gradient_norm;
  record.of_step.learning_rate = trained.learning_rate;
  record.of_step.lane = static_cast<std::uint32_t>(trained.lanes.in_use);
  black_box_->add(record);
}

}  // namespace esper::tolaria
