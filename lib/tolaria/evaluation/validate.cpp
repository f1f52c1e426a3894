#include "tolaria/evaluation/validate.h"

#include <vector>

#include "device/precision.h"
#include "step/loss.h"

namespace esper::tolaria {

using step::count_correct;
using step::cross_entropies;
using step::cross_entropy_sum;
using step::flatten;
using step::Forward;
using step::hits;
using step::Microbatch;
using step::Prediction;

namespace {

struct Sums {
  torch::Tensor loss, correct;                             // 0-dim, float64 and int64
  std::vector<torch::Tensor> sample_loss, sample_correct;  // float32 [rows], by batch; if they are kept
};

void keep_samples(const Prediction& prediction, std::int64_t rows, Sums& sums) {
  sums.sample_loss.push_back(cross_entropies(prediction).view({rows, -1}).mean(1));
  sums.sample_correct.push_back(hits(prediction).view({rows, -1}).to(torch::kFloat32).mean(1));
}

void add_batch(const Microbatch& batch, const Forward& forward, const Validation& validation, Sums& sums) {
  c10::InferenceMode inference;
  torch::Tensor logits;
  {
    device::AutocastScope autocast(validation.device.type(), validation.compute_type);
    logits = forward(batch.inputs);
  }
  const Prediction prediction = flatten(logits, batch.targets);
  sums.loss.add_(cross_entropy_sum(prediction));
  sums.correct.add_(count_correct(prediction));
  if (validation.per_sample == PerSample::kKept) keep_samples(prediction, batch.inputs.size(0), sums);
}

}  // namespace

ValidationResult validate(const NextBatch& next_batch, const Forward& forward, const Validation& validation) {
  const auto on_device = torch::dtype(torch::kFloat64).device(validation.device);
  Sums sums{at::zeros({}, on_device), at::zeros({}, on_device.dtype(torch::kInt64)), {}, {}};
  ValidationResult result;
  while (true) {
    if (validation.should_stop && validation.should_stop()) {
      result.complete = false;
      break;
    }
    const std::optional<Microbatch> batch = next_batch();
    if (!batch) break;
    add_batch(*batch, forward, validation, sums);
    result.targets += batch->targets.numel();
    result.samples += batch->inputs.size(0);
  }
  if (result.targets == 0) return result;
  const torch::Tensor read = at::stack({sums.loss, sums.correct.to(torch::kFloat64)}).cpu();
  const double* values = read.const_data_ptr<double>();
  result.loss = values[0] / static_cast<double>(result.targets);
  result.accuracy = values[1] / static_cast<double>(result.targets);
  if (!sums.sample_loss.empty())
    result.by_sample = {at::cat(sums.sample_loss).cpu(), at::cat(sums.sample_correct).cpu()};
  return result;
}

}  // namespace esper::tolaria
