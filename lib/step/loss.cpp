#include "step/loss.h"

#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "step/element_loss.h"

namespace esper::step {
namespace {

// PyTorch skips targets of -100 by default; a skipped target would silently count as a sample.
constexpr std::int64_t kIgnoreNone = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kClassDim = 1;

// PyTorch's CPU kernels for the last dimension take a row at a time, by vectors: a row shorter than a vector goes
// element by element. Then it pays to turn the logits over, so that a vector holds one class of many samples.
bool are_narrow(const torch::Tensor& logits) {
  constexpr std::int64_t kVector = 16, kMinSamples = 16;
  return logits.is_cpu() && logits.size(kClassDim) < kVector && logits.size(0) >= kMinSamples;
}

torch::Tensor log_softmax(const torch::Tensor& logits) {
  if (!are_narrow(logits)) return at::_log_softmax(logits, kClassDim, false);
  return at::_log_softmax(logits.t(), 0, false).t().contiguous();
}

// gradient, at the log-probabilities, becomes that at the logits. Without class weights each of its rows sums to
// -weight.
torch::Tensor through_log_softmax(torch::Tensor& gradient, const torch::Tensor& log_p, const LossOptions& options) {
  if (are_narrow(log_p) && !options.class_weights.defined()) return gradient.addcmul_(log_p.exp(), options.weight);
  return at::_log_softmax_backward_data(gradient, log_p, kClassDim, torch::kFloat32);
}

std::optional<torch::Tensor> optional_weights(const torch::Tensor& class_weights) {
  return class_weights.defined() ? std::optional(class_weights) : std::nullopt;
}

void smooth(const LossOptions& options, const torch::Tensor& log_p, torch::Tensor& sum, torch::Tensor& gradient) {
  const double share = options.label_smoothing / static_cast<double>(log_p.size(kClassDim));
  sum.mul_(1 - options.label_smoothing);
  gradient.mul_(1 - options.label_smoothing);
  if (options.class_weights.defined()) {
    sum.sub_(log_p.mul(options.class_weights).sum(), share);
    gradient.sub_(options.class_weights.mul(options.weight), share);
  } else {
    sum.sub_(log_p.sum(), share);
    gradient.sub_(options.weight, share);
  }
}

bool has_one_class(const torch::Tensor& targets) { return targets.scalar_type() == torch::kInt64; }

// Pixels have their classes in the first dimension of a sample, tokens in the last.
bool has_pixels(const torch::Tensor& logits) { return logits.dim() > 3; }

torch::Tensor rows_of(const torch::Tensor& logits, const torch::Tensor& targets) {
  if (!has_one_class(targets)) {
    ESPER_CHECK(logits.numel() == targets.numel() && logits.size(0) == targets.size(0),
                "there are as many outputs as targets");
    return logits.reshape({logits.size(0), -1});
  }
  return (has_pixels(logits) ? logits.movedim(1, -1) : logits).reshape({-1, logits.size(has_pixels(logits) ? 1 : -1)});
}

}  // namespace

Prediction flatten(const torch::Tensor& logits, const torch::Tensor& targets) {
  Prediction result{logits, targets};
  if (logits.dim() != 2 || (!has_one_class(targets) && targets.sizes() != logits.sizes())) {
    result.logits = rows_of(logits, targets);
    result.targets = has_one_class(targets) ? targets.reshape({-1}) : targets.reshape({targets.size(0), -1});
  }
  if (logits.scalar_type() != torch::kFloat32) result.logits = result.logits.to(torch::kFloat32);
  return result;
}

torch::Tensor unflatten(const torch::Tensor& gradient, const torch::Tensor& logits, const torch::Tensor& targets) {
  if (logits.dim() == 2 && logits.scalar_type() == torch::kFloat32) return gradient;
  if (!has_one_class(targets) || !has_pixels(logits)) return gradient.view(logits.sizes()).to(logits.scalar_type());
  std::vector<std::int64_t> sizes = targets.sizes().vec();
  sizes.push_back(logits.size(1));
  return gradient.view(sizes).movedim(-1, 1).to(logits.scalar_type());
}

torch::Tensor cross_entropy(const Prediction& prediction, const LossOptions& options, const LossSum& out) {
  const torch::Tensor log_p = log_softmax(prediction.logits);
  const auto class_weights = optional_weights(options.class_weights);
  at::nll_loss_forward_out(out.sum, out.total_weight, log_p, prediction.targets, class_weights, at::Reduction::Sum,
                           kIgnoreNone);
  torch::Tensor gradient = at::nll_loss_backward(options.weight, log_p, prediction.targets, class_weights,
                                                 at::Reduction::Sum, kIgnoreNone, out.total_weight);
  if (options.label_smoothing > 0) smooth(options, log_p, out.sum, gradient);
  return through_log_softmax(gradient, log_p, options);
}

torch::Tensor loss_gradient(const LossSettings& settings, const Prediction& prediction, const LossOptions& options,
                            const LossSum& out) {
  if (settings.kind == config::LossKind::kCrossEntropy) return cross_entropy(prediction, options, out);
  return element_loss(settings, prediction, options, out);
}

torch::Tensor loss_sum(const LossSettings& settings, const Prediction& prediction) {
  if (settings.kind == config::LossKind::kCrossEntropy) return cross_entropy_sum(prediction);
  return element_losses(settings, prediction).sum();
}

torch::Tensor target_losses(const LossSettings& settings, const Prediction& prediction) {
  if (settings.kind == config::LossKind::kCrossEntropy) return cross_entropies(prediction);
  return element_losses(settings, prediction);
}

torch::Tensor sum_of_weights(const torch::Tensor& class_weights, const torch::Tensor& targets) {
  return class_weights.index_select(0, targets.flatten()).sum();
}

torch::Tensor cross_entropy_sum(const Prediction& prediction) {
  const torch::Tensor log_p = log_softmax(prediction.logits);
  return std::get<0>(at::nll_loss_forward(log_p, prediction.targets, std::nullopt, at::Reduction::Sum, kIgnoreNone));
}

torch::Tensor cross_entropies(const Prediction& prediction) {
  const torch::Tensor log_p = log_softmax(prediction.logits);
  return std::get<0>(at::nll_loss_forward(log_p, prediction.targets, std::nullopt, at::Reduction::None, kIgnoreNone));
}

torch::Tensor hits(const Prediction& prediction) {
  if (has_one_class(prediction.targets)) return prediction.logits.argmax(kClassDim).eq_(prediction.targets);
  return label_hits(prediction);
}

torch::Tensor count_correct(const Prediction& prediction) { return hits(prediction).sum(); }

}  // namespace esper::step
