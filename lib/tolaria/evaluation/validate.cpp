#include "tolaria/evaluation/validate.h"

#include <vector>

#include "device/precision.h"
#include "step/loss.h"

namespace esper::tolaria {

using step::flatten;
using step::Forward;
using step::Microbatch;
using step::Prediction;

namespace {

struct Sums {
  torch::Tensor loss;  // 0-dim float64
  ScoreSums score;
  FigureSums figures;
  std::vector<torch::Tensor> sample_loss;  // float32 [rows], by batch; if they are kept
};

void add_batch(const Microbatch& batch, const Forward& forward, const Validation& validation, Sums& sums) {
  c10::InferenceMode inference;
  torch::Tensor logits;
  {
    device::AutocastScope autocast(validation.device.type(), validation.compute_type);
    logits = forward(batch.inputs);
  }
  const std::int64_t rows = batch.inputs.size(0);
  const step::LossSettings& loss = validation.scoring.loss;
  const Prediction prediction = flatten(logits, batch.targets);
  sums.loss.add_(loss_sum(loss, prediction));
  sums.score.add(prediction, rows);
  if (validation.figures == Figures::kAll) sums.figures.add(prediction);
  if (validation.per_sample == PerSample::kNotKept) return;
  sums.sample_loss.push_back(target_losses(loss, prediction).view({rows, -1}).mean(1));
}

void read(const Validation& validation, Sums& sums, ValidationResult& result) {
  result.loss = sums.loss.item<double>() / static_cast<double>(result.targets);
  const Score score = sums.score.read().front();
  result.score = score.value;
  if (validation.figures == Figures::kAll) result.figures = sums.figures.read(result.loss);
  if (!sums.sample_loss.empty()) result.by_sample = {at::cat(sums.sample_loss).cpu(), score.by_sample};
}

}  // namespace

ValidationResult validate(const NextBatch& next_batch, const Forward& forward, const Validation& validation) {
  const Scoring& scoring = validation.scoring;
  Sums sums{at::zeros({}, torch::dtype(torch::kFloat64).device(validation.device)),
            {scoring, 1, validation.per_sample, validation.device},
            {scoring, validation.device, validation.target_deviation},
            {}};
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
  if (result.targets > 0) read(validation, sums, result);
  return result;
}

}  // namespace esper::tolaria
