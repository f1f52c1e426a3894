#include "tamiyo/network/weights.h"

#include <ATen/Functions.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include "storage/atomic_publish.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

using storage::TensorView;

base::Expected<at::Tensor> read_tensor(const TensorView& view, const TensorSpec& spec) {
  if (view.dtype != storage::Dtype::kF32) {
    return base::failure(fmt::format("tensor {} has type {}, not F32", spec.name, storage::dtype_name(view.dtype)));
  }
  if (view.shape != spec.shape) {
    return base::failure(fmt::format("tensor {} has shape [{}], the network's is [{}]", spec.name,
                                     fmt::join(view.shape, ", "), fmt::join(spec.shape, ", ")));
  }
  at::Tensor tensor = at::empty(spec.shape, at::kFloat);
  float* values = tensor.mutable_data_ptr<float>();
  std::memcpy(values, view.bytes.data(), view.bytes.size());
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    if (!std::isfinite(values[i])) {
      return base::failure(fmt::format("tensor {} is not finite: element {} is {}", spec.name, i, values[i]));
    }
  }
  return tensor;
}

base::Expected<Weights> read_weights(const std::vector<TensorView>& views) {
  std::map<std::string_view, const TensorView*> by_name;
  for (const TensorView& view : views) by_name[view.name] = &view;
  Weights weights;
  for (const TensorSpec& spec : network_tensors()) {
    const auto found = by_name.find(spec.name);
    if (found == by_name.end()) return base::failure(fmt::format("tensor {} is missing", spec.name));
    auto tensor = read_tensor(*found->second, spec);
    if (!tensor) return base::failure(tensor.error());
    weights.emplace(spec.name, *std::move(tensor));
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    return base::failure(fmt::format("tensor {} is none of the network's", by_name.begin()->first));
  }
  return weights;
}

}  // namespace

base::Expected<PolicyFile> load_policy(base::FileSystem& file_system, const std::string& path) {
  auto loaded = storage::load_safetensors(file_system, path, kMaxPolicyBytes);
  if (!loaded) return base::failure(loaded.error().problem);
  auto weights = read_weights(loaded->contents.tensors);
  if (!weights) return base::failure(fmt::format("{}: {}", path, weights.error()));
  return PolicyFile{*std::move(weights), std::move(loaded->contents.metadata)};
}

void save_policy(base::FileSystem& file_system, const std::string& path, const PolicyFile& policy) {
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : policy.weights) {
    const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
    views.push_back({name, storage::Dtype::kF32, tensor.sizes().vec(), {bytes, tensor.nbytes()}});
  }
  storage::publish_file(file_system, path, [&](const storage::ByteSink& sink) {
    storage::write_safetensors(views, policy.metadata, sink);
  });
}

}  // namespace esper::tamiyo
