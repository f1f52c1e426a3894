#include "kasmina/host/host_weights.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <set>

#include "base/error.h"
#include "kasmina/tensor/stored_tensor.h"
#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"

namespace esper::kasmina {
namespace {

constexpr std::string_view kIdPrefix = "host.";
constexpr std::uint64_t kMostBytes = 1ull << 40;

[[noreturn]] void refuse_weights(const std::string& path, const std::string& problem) {
  throw base::Error(base::ExitCode::kData, fmt::format("host.weights: {}: {}", path, problem));
}

const storage::TensorView* find_view(const storage::Safetensors& file, const std::string& id) {
  for (const auto& view : file.tensors) {
    if (view.name == id || (id.starts_with(kIdPrefix) && view.name == id.substr(kIdPrefix.size()))) return &view;
  }
  return nullptr;
}

void take(const NamedTensor& own, const storage::Safetensors& file, TakenWeights& out, std::set<std::string>& used) {
  const auto* view = find_view(file, own.id);
  if (view == nullptr) {
    out.only_in_host.push_back(own.id);
    return;
  }
  used.insert(view->name);
  if (own.tensor.sizes() != at::IntArrayRef(view->shape)) {
    out.other_shape.push_back(
        fmt::format("{} [{}] and [{}]", own.id, fmt::join(own.tensor.sizes(), ", "), fmt::join(view->shape, ", ")));
    return;
  }
  const auto value = tensor_of(*view);
  if (!value) {
    out.only_in_host.push_back(own.id);
    return;
  }
  const at::NoGradGuard no_grad;
  own.tensor.copy_(value->tensor);
  out.taken.push_back(own.id);
}

std::string line(const std::vector<std::string>& names, const std::string& what) {
  if (names.empty()) return "";
  constexpr std::size_t kMost = 8;
  const auto first = std::span(names).first(std::min(kMost, names.size()));
  return fmt::format("{} {}: {}{}\n", names.size(), what, fmt::join(first, ", "), names.size() > kMost ? ", ..." : "");
}

}  // namespace

TakenWeights take_weights(const TensorTable& host, const std::string& path) {
  const auto loaded = [&] {
    try {
      return storage::load_safetensors(storage::real_file_system(), path, kMostBytes);
    } catch (const base::IoError& error) {
      refuse_weights(path, error.what());
    }
  }();
  if (!loaded) refuse_weights(path, loaded.error().problem + "; only safetensors files are read");
  TakenWeights weights;
  std::set<std::string> used;
  for (const auto* table : {&host.parameters, &host.buffers}) {
    for (const auto& own : *table) take(own, loaded->contents, weights, used);
  }
  for (const auto& view : loaded->contents.tensors) {
    if (!used.contains(view.name)) weights.only_in_file.push_back(view.name);
  }
  if (weights.taken.empty()) {
    refuse_weights(path,
                   "none of its tensors has the name and the shape of one of the network's.\n" + differences(weights));
  }
  return weights;
}

std::string differences(const TakenWeights& weights) {
  return line(weights.other_shape, "tensors have another shape in the file and stay as they were") +
         line(weights.only_in_host, "tensors are not in the file and stay as they were") +
         line(weights.only_in_file, "tensors are only in the file");
}

}  // namespace esper::kasmina
