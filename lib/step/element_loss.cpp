#include "step/element_loss.h"

#include "base/error.h"

namespace esper::step {
namespace {

using config::LossKind;

// -t log p - (1 - t) log(1 - p), p = sigmoid(x), without overflow: log(1 + exp(x)) - t x.
torch::Tensor bce_with_logits(const Prediction& prediction) {
  const torch::Tensor& logits = prediction.logits;
  return at::softplus(logits).sub_(logits.mul(prediction.targets));
}

// d^2 / 2 for |d| < delta, else delta (|d| - delta / 2), d the error: c (d - c / 2) with c the error cut at delta.
torch::Tensor huber(const torch::Tensor& error, const torch::Tensor& cut) { return cut.mul(error.sub(cut, 0.5)); }

// By element: the loss, and what the loss changes by with the output.
struct Elements {
  torch::Tensor loss, slope;
};

Elements elements_of(const LossSettings& settings, const Prediction& prediction) {
  if (settings.kind == LossKind::kBce) {
    return {bce_with_logits(prediction), prediction.logits.sigmoid().sub_(prediction.targets)};
  }
  torch::Tensor error = prediction.logits.sub(prediction.targets);
  if (settings.kind == LossKind::kMse) return {error.square(), error.add(error)};
  ESPER_CHECK(settings.kind == LossKind::kHuber, "cross entropy is no loss of single elements");
  torch::Tensor cut = error.clamp(-settings.huber_delta, settings.huber_delta);
  return {huber(error, cut), cut};
}

}  // namespace

torch::Tensor element_loss(const LossSettings& settings, const Prediction& prediction, const LossOptions& options,
                           const LossSum& out) {
  Elements elements = elements_of(settings, prediction);
  if (options.class_weights.defined()) {
    elements.loss.mul_(options.class_weights);
    elements.slope.mul_(options.class_weights);
  }
  at::sum_out(out.sum, elements.loss, at::IntArrayRef{0, 1});
  return elements.slope.mul_(options.weight);
}

torch::Tensor element_losses(const LossSettings& settings, const Prediction& prediction) {
  return elements_of(settings, prediction).loss;
}

torch::Tensor label_hits(const Prediction& prediction) {
  return prediction.logits.gt(0).eq_(prediction.targets.gt(0.5));
}

}  // namespace esper::step
