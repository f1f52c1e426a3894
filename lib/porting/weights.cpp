#include "porting/weights.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kasmina/tensor/stored_tensor.h"
#include "storage/safetensors/safetensors.h"

namespace esper::porting {
namespace {

constexpr std::uint64_t kMostBytes = 1ull << 40;

// Contiguous, on the CPU.
std::vector<kasmina::NamedTensor> copies_of(const std::vector<kasmina::NamedTensor>& values) {
  std::vector<kasmina::NamedTensor> copies;
  for (const auto& [name, tensor] : values) copies.push_back({name, tensor.detach().to(torch::kCPU).contiguous()});
  return copies;
}

std::vector<storage::TensorView> views_of(const std::vector<kasmina::NamedTensor>& copies) {
  std::vector<storage::TensorView> views;
  std::ranges::transform(copies, std::back_inserter(views), kasmina::view_of);
  return views;
}

bool is_same(const storage::TensorView& a, const storage::TensorView& b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

}  // namespace

void write_weights(const std::vector<kasmina::NamedTensor>& values, const storage::ByteSink& sink) {
  const auto copies = copies_of(values);
  storage::write_safetensors(views_of(copies), {}, sink);
}

base::Expected<void> check_weights(base::FileSystem& files, const std::string& path,
                                   const std::vector<kasmina::NamedTensor>& values) {
  const auto copies = copies_of(values);
  const auto loaded = storage::load_safetensors(files, path, kMostBytes);
  if (!loaded) return base::failure(loaded.error().problem);
  const auto& found = loaded->contents.tensors;
  if (found.size() != values.size()) return base::failure("it has another number of tensors");
  for (const auto& expected : views_of(copies)) {
    const auto own = std::ranges::find(found, expected.name, &storage::TensorView::name);
    if (own == found.end() || !is_same(*own, expected)) return base::failure("tensor " + expected.name + " differs");
  }
  return {};
}

}  // namespace esper::porting
