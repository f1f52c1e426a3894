// The yardstick: a training loop over libtorch as a careful person writes it, with the fused optimizer.

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <torch/types.h>

#include <vector>

#include "device/precision.h"
#include "engine/bench/trainee.h"
#include "kasmina/host/host.h"

namespace esper::engine::bench {
namespace {

constexpr double kClipEps = 1e-6;  // as torch.nn.utils.clip_grad_norm_

// PyTorch's optimizers pass over a parameter without a gradient. The forward uses the same ones in each step.
class HandOptimizer {
 public:
  // Borrows both.
  HandOptimizer(const config::TrainingConfig& config, const std::vector<kasmina::NamedTensor>& parameters)
      : config_(config), all_(parameters) {}

  // Takes the gradients, and resets them.
  void step() {
    const at::NoGradGuard no_grad;
    const bool is_first = parameters_.empty();
    if (is_first) take_used_parameters();
    std::vector<torch::Tensor> gradients;
    for (const auto& parameter : parameters_) gradients.push_back(parameter.grad());
    if (config_.clip_norm > 0) clip(gradients);
    update(gradients, is_first);
    for (auto& parameter : parameters_) parameter.mutable_grad().reset();
  }

 private:
  void take_used_parameters() {
    for (const auto& [id, parameter] : all_) {
      if (!parameter.grad().defined()) continue;
      parameters_.push_back(parameter);
      first_.push_back(at::zeros_like(parameter));
      if (config_.optimizer.kind == config::OptimizerKind::kAdamw) {
        second_.push_back(at::zeros_like(parameter));
        counts_.push_back(at::zeros({}, torch::dtype(torch::kFloat32).device(parameter.device())));
      }
    }
  }

  void clip(const std::vector<torch::Tensor>& gradients) const {
    const torch::Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
    at::_foreach_mul_(gradients, norm.add(kClipEps).reciprocal_().mul_(config_.clip_norm).clamp_max_(1.0));
  }

  void update(const std::vector<torch::Tensor>& gradients, bool is_first) {
    const auto& optimizer = config_.optimizer;
    if (optimizer.kind == config::OptimizerKind::kAdamw) {
      at::_foreach_add_(counts_, 1);
      at::_fused_adamw_(parameters_, gradients, first_, second_, {}, counts_, optimizer.lr, optimizer.beta1,
                        optimizer.beta2, optimizer.weight_decay, optimizer.eps, false, false);
    } else {
      const auto buffers = optimizer.momentum > 0 ? at::TensorList(first_) : at::TensorList();
      at::_fused_sgd_(parameters_, gradients, buffers, optimizer.weight_decay, optimizer.momentum, optimizer.lr, 0,
                      optimizer.nesterov, false, is_first);
    }
  }

  const config::TrainingConfig& config_;
  const std::vector<kasmina::NamedTensor>& all_;
  std::vector<torch::Tensor> parameters_, first_, second_, counts_;  // of those that the forward uses
};

class HandLoop {
 public:
  explicit HandLoop(const Workload& workload)
      : workload_(workload),
        host_(kasmina::build_host(workload.setup.config.host, workload.setup.data.train.shape,
                                  workload.setup.config.seed, workload.setup.device)),
        optimizer_(workload.setup.config.training, host_.tensors.parameters) {}
  HandLoop(const HandLoop&) = delete;
  HandLoop& operator=(const HandLoop&) = delete;

  void step() {
    const Microbatches& microbatches = workload_.steps[next_];
    if (++next_ == workload_.steps.size()) next_ = 0;
    for (const auto& batch : microbatches) {
      loss_of(batch).div(static_cast<double>(microbatches.size())).backward();
    }
    optimizer_.step();
  }

  std::vector<torch::Tensor> parameters() const {
    std::vector<torch::Tensor> out;
    for (const auto& [id, parameter] : host_.tensors.parameters)
      out.push_back(parameter.detach().to(torch::kCPU, torch::kFloat64).clone());
    return out;
  }

 private:
  torch::Tensor loss_of(const step::Microbatch& batch) const {
    const auto keep = [](std::size_t, const torch::Tensor& feature) { return feature; };
    torch::Tensor logits;
    {
      const device::AutocastScope autocast(workload_.setup.device.type(), workload_.setup.settings.compute_type);
      logits = host_.forward(batch.inputs, kasmina::Mode::kTrain, keep);
    }
    if (logits.dim() > 3) logits = logits.movedim(1, -1);  // pixels have their classes in the first dimension
    if (logits.dim() > 2) logits = logits.flatten(0, -2);
    return at::cross_entropy_loss(logits.to(torch::kFloat32), batch.targets.flatten(), {}, at::Reduction::Mean, -100,
                                  workload_.setup.config.training.label_smoothing);
  }

  const Workload& workload_;
  kasmina::Host host_;
  HandOptimizer optimizer_;
  std::size_t next_ = 0;
};

}  // namespace

Trainee handwritten_trainee(const Workload& workload) {
  Trainee trainee;
  trainee.name = "hand";
  if (workload.setup.settings.compute_type == torch::kFloat16)
    trainee.refusal = "the handwritten loop has no loss scaling";
  if (!workload.setup.config.host.modules.empty()) trainee.refusal = "the handwritten loop has no modules in slots";
  const auto& training = workload.setup.config.training;
  if (training.loss != config::LossKind::kCrossEntropy || !training.class_weights.empty())
    trainee.refusal = "the handwritten loop has no loss but cross entropy, without class weights";
  if (training.ema_decay > 0) trainee.refusal = "the handwritten loop has no parameter averaging";
  if (!trainee.refusal.empty()) return trainee;
  const auto loop = std::make_shared<HandLoop>(workload);
  trainee.step = [loop] { loop->step(); };
  trainee.parameters = [loop] { return loop->parameters(); };
  return trainee;
}

}  // namespace esper::engine::bench
