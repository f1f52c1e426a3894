#include "tolaria/evaluation/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/error.h"
#include "device/precision.h"

namespace esper::tolaria {
namespace {

// float32 [V] on the CPU: of the token after the last one. An imported network may have more outputs than there are
// tokens.
torch::Tensor next_logits(const step::Model& model, std::span<const std::int64_t> seen, std::int64_t num_tokens,
                          torch::Device device) {
  const c10::InferenceMode inference;
  const auto tokens = torch::tensor(at::IntArrayRef(seen.data(), seen.size()), torch::kInt64).unsqueeze(0).to(device);
  const device::AutocastScope autocast(device.type(), model.settings.compute_type);
  const auto logits = model.network.forward(tokens, kasmina::Mode::kEvaluate);
  ESPER_CHECK(logits.dim() == 3, "a language model has an output for each token");
  const auto last = logits.select(0, 0).select(0, logits.size(1) - 1);
  return last.narrow(0, 0, num_tokens).to(torch::kFloat32).cpu().contiguous();
}

// The 53 high bits: the same numbers with every standard library.
double uniform_of(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace

std::int64_t draw_token(std::span<const float> logits, const TokenSampling& sampling, double uniform) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto logit = [&](std::int64_t token) { return static_cast<double>(logits[static_cast<std::size_t>(token)]); };
  std::ranges::stable_sort(order, [&](auto a, auto b) { return logit(a) > logit(b); });
  if (sampling.temperature == 0) return order.front();
  const auto all = static_cast<std::int64_t>(order.size());
  order.resize(static_cast<std::size_t>(sampling.top_k > 0 ? std::min(sampling.top_k, all) : all));
  std::vector<double> sums;
  double sum = 0;
  for (const auto token : order) {
    sum += std::exp((logit(token) - logit(order.front())) / sampling.temperature);
    sums.push_back(sum);
  }
  const auto found = std::ranges::upper_bound(sums, uniform * sum);
  return found == sums.end() ? order.back() : order[static_cast<std::size_t>(found - sums.begin())];
}

std::vector<std::int64_t> generate(const step::Model& model, std::vector<std::int64_t> prompt,
                                   const leyline::SampleShape& shape, torch::Device device,
                                   const TokenSampling& sampling,
                                   const std::function<void(std::int64_t done)>& progress) {
  std::mt19937_64 random(sampling.seed);
  const auto given = static_cast<std::ptrdiff_t>(prompt.size());
  std::vector<std::int64_t> seen = std::move(prompt);
  for (std::int64_t i = 0; i < sampling.tokens; ++i) {
    const auto count = std::min(seen.size(), static_cast<std::size_t>(shape.context));
    const auto logits = next_logits(model, std::span(seen).last(count), shape.num_classes, device);
    const std::span values(logits.const_data_ptr<float>(), static_cast<std::size_t>(logits.numel()));
    seen.push_back(draw_token(values, sampling, uniform_of(random)));
    if (progress) progress(i + 1);
  }
  return {seen.begin() + given, seen.end()};
}

}  // namespace esper::tolaria
