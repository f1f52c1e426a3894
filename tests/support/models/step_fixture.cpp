#include "support/models/step_fixture.h"

#include <cstring>

namespace esper::test {

using step::make_step_state;
using step::Microbatch;
using step::named_tensors;
using step::StepSettings;
using step::StepState;
using step::sync_groups;
using step::train_step;

namespace {

// Numbers in [-scale, scale] that are the same on every machine.
torch::Tensor numbers(torch::IntArrayRef shape, double scale, double phase) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return at::arange(count, torch::kFloat64).mul(12.9898).add(phase).sin().mul(scale).reshape(shape).to(torch::kFloat32);
}

torch::Tensor parameter(torch::IntArrayRef shape, double scale, double phase) {
  return numbers(shape, scale, phase).requires_grad_(true);
}

}  // namespace

SmallNet SmallNet::make(std::int64_t inputs, std::int64_t hidden, std::int64_t classes) {
  return {parameter({hidden, inputs}, 0.4, 0.1), parameter({hidden}, 0.1, 0.2), parameter({classes, hidden}, 0.5, 0.3),
          parameter({classes}, 0.1, 0.4)};
}

torch::Tensor SmallNet::forward(const torch::Tensor& x) const {
  return at::linear(at::linear(x, w1, b1).tanh(), w2, b2);
}

std::vector<kasmina::ParameterGroup> SmallNet::groups(Grouping grouping) const {
  const std::vector<kasmina::NamedTensor> first = {{"host.1.weight", w1}, {"host.1.bias", b1}};
  const std::vector<kasmina::NamedTensor> second = {{"host.2.weight", w2}, {"host.2.bias", b2}};
  if (grouping == Grouping::kTwo) return {{"host", "host", first}, {"seed-0001", "seed-0001", second}};
  std::vector<kasmina::NamedTensor> all = first;
  all.insert(all.end(), second.begin(), second.end());
  return {{"host", "host", all}};
}

Bench::Bench(const StepSettings& with, Grouping grouping) : settings(with), state(make_step_state(with, torch::kCPU)) {
  sync_groups(state, settings, net.groups(grouping));
}

void Bench::step(const std::vector<Microbatch>& microbatches) {
  train_step(state, settings, microbatches,
             [this](const torch::Tensor& x, kasmina::SlotTaps*) { return net.forward(x); });
}

StepSettings plain_sgd(double lr) {
  StepSettings settings;
  settings.optimizer.kind = config::OptimizerKind::kSgd;
  settings.optimizer.lr = lr;
  settings.optimizer.momentum = 0;
  return settings;
}

StepSettings adamw(double lr) {
  StepSettings settings;
  settings.optimizer.kind = config::OptimizerKind::kAdamw;
  settings.optimizer.lr = lr;
  settings.optimizer.weight_decay = 0.01;
  return settings;
}

Microbatch samples(std::int64_t count, std::int64_t offset) {
  const torch::Tensor inputs = numbers({count, 6}, 1.0, static_cast<double>(offset));
  return {inputs, at::arange(offset, offset + count, torch::kInt64).mul(7).remainder(4)};
}

std::vector<Microbatch> cut(const Microbatch& whole, const std::vector<std::int64_t>& sizes) {
  std::vector<Microbatch> parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back({whole.inputs.narrow(0, begin, size), whole.targets.narrow(0, begin, size)});
    begin += size;
  }
  return parts;
}

std::map<std::string, torch::Tensor> snapshot(const StepState& state) {
  std::map<std::string, torch::Tensor> copies;
  for (const auto& named : named_tensors(state)) copies[named.id] = named.tensor.detach().clone();
  return copies;
}

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  return a.detach().to(torch::kFloat64).sub(b.detach().to(torch::kFloat64)).abs().max().item<double>();
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor left = a.detach().contiguous(), right = b.detach().contiguous();
  return left.sizes() == right.sizes() && left.scalar_type() == right.scalar_type() &&
         (left.numel() == 0 || std::memcmp(left.const_data_ptr(), right.const_data_ptr(), left.nbytes()) == 0);
}

}  // namespace esper::test
