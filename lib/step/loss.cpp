#include "step/loss.h"

#include <limits>

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

// gradient, at the log-probabilities, becomes that at the logits. Each of its rows sums to -weight.
torch::Tensor through_log_softmax(torch::Tensor& gradient, const torch::Tensor& log_p, const torch::Tensor& weight) {
  if (are_narrow(log_p)) return gradient.addcmul_(log_p.exp(), weight);
  return at::_log_softmax_backward_data(gradient, log_p, kClassDim, torch::kFloat32);
}

}  // namespace

Prediction flatten(const torch::Tensor& logits, const torch::Tensor& targets) {
  Prediction result{logits, targets};
  if (logits.dim() != 2) {
    result.logits = logits.reshape({-1, logits.size(-1)});
    result.targets = targets.reshape({-1});
  }
  if (logits.scalar_type() != torch::kFloat32) result.logits = result.logits.to(torch::kFloat32);
  return result;
}

torch::Tensor cross_entropy(const Prediction& prediction, const LossOptions& options, const LossSum& out) {
  const torch::Tensor log_p = log_softmax(prediction.logits);
  at::nll_loss_forward_out(out.sum, out.total_weight, log_p, prediction.targets, std::nullopt, at::Reduction::Sum,
                           kIgnoreNone);
  torch::Tensor gradient = at::nll_loss_backward(options.weight, log_p, prediction.targets, std::nullopt,
                                                 at::Reduction::Sum, kIgnoreNone, out.total_weight);
  if (options.label_smoothing > 0) {
    const double share = options.label_smoothing / static_cast<double>(log_p.size(kClassDim));
    out.sum.mul_(1 - options.label_smoothing).sub_(log_p.sum(), share);
    gradient.mul_(1 - options.label_smoothing).sub_(options.weight, share);
  }
  return through_log_softmax(gradient, log_p, options.weight);
}

torch::Tensor cross_entropy_sum(const Prediction& prediction) {
  const torch::Tensor log_p = log_softmax(prediction.logits);
  return std::get<0>(at::nll_loss_forward(log_p, prediction.targets, std::nullopt, at::Reduction::Sum, kIgnoreNone));
}

torch::Tensor cross_entropies(const Prediction& prediction) {
  const torch::Tensor log_p = log_softmax(prediction.logits);
  return std::get<0>(at::nll_loss_forward(log_p, prediction.targets, std::nullopt, at::Reduction::None, kIgnoreNone));
}

torch::Tensor hits(const Prediction& prediction) { return prediction.logits.argmax(kClassDim).eq_(prediction.targets); }

torch::Tensor count_correct(const Prediction& prediction) { return hits(prediction).sum(); }

}  // namespace esper::step
