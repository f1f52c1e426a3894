#include "data/loading/resident_samples.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>

#include "data/files/memory_need.h"
#include "data/loading/transform.h"

namespace esper::data {
namespace {

bool is_text(const Dataset& dataset) { return dataset.shape.kind == leyline::SampleKind::kTokens; }

// Copies every sample, standardised, into its place on the device.
void copy_standardised(const Transform& transform, std::int64_t frame, ResidentSamples& out) {
  constexpr std::int64_t kChunk = 1024;  // samples at a time, so that the host needs no second copy of the set
  const std::int64_t total = out.inputs.size(0);
  for (std::int64_t first = 0; first < total; first += kChunk) {
    const auto count = std::min(kChunk, total - first);
    std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
    std::iota(samples.begin(), samples.end(), first);
    auto inputs = at::empty(transform.input_sizes(count), torch::kFloat32);
    auto targets = at::empty(transform.target_sizes(count), transform.target_type());
    transform.fill(samples, {}, inputs, targets);
    auto place = out.inputs.narrow(0, first, count);
    for (std::int64_t d = 2; d < place.dim(); ++d) place = place.narrow(d, frame, inputs.size(d));
    place.copy_(inputs);
    out.targets.narrow(0, first, count).copy_(targets);
  }
}

ResidentSamples standardised_samples(const Dataset& dataset, const Standardization& standardization,
                                     const LoaderConfig& config) {
  const Transform checked(dataset, standardization, config.augment);
  const Transform transform(dataset, standardization, {});
  const std::int64_t total = num_samples(dataset), frame = config.augment.crop_padding;
  auto sizes = checked.input_sizes(total);
  for (std::size_t i = 2; i < sizes.size(); ++i) sizes[i] += 2 * frame;
  if (config.device.is_cpu()) {
    require_memory("data.gpu_dataset", "the standardised data set", resident_bytes(dataset, config.augment), {},
                   "set data.gpu_dataset: off");
  }
  ResidentSamples out;
  out.inputs = at::empty(sizes, torch::dtype(torch::kFloat32).device(config.device));
  out.targets = at::empty(transform.target_sizes(total), torch::dtype(transform.target_type()).device(config.device));
  out.sample_sizes = dataset.shape.sizes();
  out.target_sizes.assign(out.targets.sizes().begin() + 1, out.targets.sizes().end());
  for (std::int64_t c = 0; frame > 0 && c < sizes[1]; ++c) out.inputs.select(1, c).fill_(transform.padding_of(c));
  copy_standardised(transform, frame, out);
  return out;
}

ResidentSamples text_windows(const Dataset& dataset, const Standardization& standardization,
                             const LoaderConfig& config) {
  Transform(dataset, standardization, config.augment);  // refuses an augmentation of text
  const auto length = dataset.shape.sizes()[0], tokens = dataset.inputs.size(0);
  if (config.device.is_cpu() && dataset.inputs.scalar_type() != torch::kInt64) {
    require_memory("data.gpu_dataset", "the tokens as 64-bit numbers", resident_bytes(dataset, {}), {},
                   "set data.gpu_dataset: off");
  }
  const auto text = dataset.inputs.to(config.device).to(torch::kInt64);
  ResidentSamples out;
  out.inputs = text.as_strided({tokens - length, length}, {1, 1}, 0);
  out.targets = text.as_strided({tokens - length, length}, {1, 1}, 1);
  const auto* starts = dataset.windows.const_data_ptr<std::int64_t>();
  out.starts.assign(starts, starts + num_samples(dataset));
  out.sample_sizes = out.target_sizes = dataset.shape.sizes();
  return out;
}

}  // namespace

std::int64_t resident_bytes(const Dataset& dataset, const config::AugmentConfig& augment) {
  constexpr std::int64_t kFloat = sizeof(float), kIndex = sizeof(std::int64_t);
  if (is_text(dataset)) return dataset.inputs.numel() * kIndex;
  const auto sizes = dataset.shape.sizes();
  std::int64_t elements = sizes[0];
  for (std::size_t i = 1; i < sizes.size(); ++i) elements *= sizes[i] + 2 * augment.crop_padding;
  return num_samples(dataset) * elements * kFloat + static_cast<std::int64_t>(dataset.targets.nbytes());
}

ResidentSamples resident_samples(const Dataset& dataset, const Standardization& standardization,
                                 const LoaderConfig& config) {
  if (is_text(dataset)) return text_windows(dataset, standardization, config);
  return standardised_samples(dataset, standardization, config);
}

}  // namespace esper::data
