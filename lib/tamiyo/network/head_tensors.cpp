#include "tamiyo/network/head_tensors.h"

#include <algorithm>

#include "base/error.h"

namespace esper::tamiyo {
namespace {

std::vector<float> numbers_of(const at::Tensor& tensor) {
  const at::Tensor here = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* begin = here.const_data_ptr<float>();
  return {begin, begin + here.numel()};
}

template <std::size_t kSize>
void read_into(std::array<float, kSize>& out, const at::Tensor& tensor) {
  ESPER_CHECK(tensor.numel() == static_cast<std::int64_t>(kSize), "a head has its size");
  std::ranges::copy(numbers_of(tensor), out.begin());
}

}  // namespace

PolicyOutputs to_outputs(const HeadTensors& heads) {
  PolicyOutputs outputs;
  read_into(outputs.policy_logits, heads.policy_logits);
  read_into(outputs.policy_params, heads.policy_params);
  read_into(outputs.blending_logits, heads.blending_logits);
  read_into(outputs.schedule, heads.schedule);
  read_into(outputs.risk_logits, heads.risk_logits);
  outputs.value = heads.value.item<float>();
  read_into(outputs.breaker_logits, heads.breaker_logits);
  outputs.seed_scores = numbers_of(heads.seed_scores);
  outputs.blueprint_scores = numbers_of(heads.blueprint_scores);
  return outputs;
}

std::vector<float> flat(const PolicyOutputs& outputs) {
  std::vector<float> values = {outputs.value};
  const auto add = [&values](const auto& more) { values.insert(values.end(), more.begin(), more.end()); };
  add(outputs.policy_logits);
  add(outputs.policy_params);
  add(outputs.blending_logits);
  add(outputs.schedule);
  add(outputs.risk_logits);
  add(outputs.breaker_logits);
  add(outputs.seed_scores);
  add(outputs.blueprint_scores);
  return values;
}

}  // namespace esper::tamiyo
