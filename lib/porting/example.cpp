#include "porting/example.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>

namespace esper::porting {
namespace {

constexpr std::uint64_t kSeed = 20;
constexpr std::int64_t kPixelValues = 256;

// [1, groups, 1, 1]: one for each channel or feature of a batch.
torch::Tensor each_group(const std::vector<float>& values, float otherwise, const leyline::SampleShape& shape) {
  const auto sizes = shape.sizes();
  std::vector<std::int64_t> view(sizes.size() + 1, 1);
  view[1] = sizes[0];
  return (values.empty() ? at::full({sizes[0]}, otherwise) : at::tensor(values)).view(view);
}

std::string text_of(const torch::Tensor& tokens, const data::Preprocessing& like) {
  const bool characters = like.kind == config::DataKind::kText;
  std::string text;
  for (std::int64_t i = 0; i < tokens.size(0); ++i) {
    const auto token = tokens[i].item<std::int64_t>();
    text += characters ? like.class_names.at(static_cast<std::size_t>(token)) : std::to_string(token) + " ";
  }
  return text;
}

}  // namespace

Example make_example(const data::Preprocessing& preprocessing, std::int64_t rows) {
  const auto& shape = preprocessing.shape;
  std::vector<std::int64_t> sizes = {rows};
  for (const auto size : shape.sizes()) sizes.push_back(size);
  auto generator = at::detail::createCPUGenerator(kSeed);
  if (preprocessing.element == data::Element::kToken) {
    const auto tokens = at::randint(0, shape.num_classes, sizes, generator, torch::kInt64);
    return {tokens, {}, text_of(tokens[0], preprocessing)};
  }
  const auto mean = each_group(preprocessing.standardization.mean, 0, shape),
             deviation = each_group(preprocessing.standardization.deviation, 1, shape);
  if (preprocessing.element == data::Element::kPixel) {
    const auto raw = at::randint(0, kPixelValues, sizes, generator, torch::kUInt8);
    return {((raw.to(torch::kFloat32) / 255 - mean) / deviation).contiguous(), raw, {}};
  }
  const auto raw = (mean + deviation * at::randn(sizes, generator)).contiguous();
  return {((raw - mean) / deviation).contiguous(), raw, {}};
}

}  // namespace esper::porting
