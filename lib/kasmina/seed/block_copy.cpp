#include "kasmina/seed/block_copy.h"

#include <algorithm>
#include <utility>

#include "kasmina/seed/widening.h"

namespace esper::kasmina {
namespace {

bool ends_on_residual_path(const HostBlock& block, const std::string& parameter) {
  return std::ranges::any_of(block.residual_layers,
                             [&](const std::string& layer) { return parameter.starts_with(layer + "."); });
}

// "norm1.weight" of "seed-0001.norm1.weight" or "seed-0001.copy2.norm1.weight".
std::string name_in_block(const Seed& seed, const std::string& id) {
  const std::string name = id.substr(seed.id.size() + 1);
  return seed.kind.copies > 1 && name.starts_with("copy") ? name.substr(name.find('.') + 1) : name;
}

}  // namespace

std::vector<ParameterCopy> copies_of(const Seed& seed, const SlotSite& site, const TensorTable& host) {
  std::vector<ParameterCopy> copies;
  if (seed.kind.blueprint->birth == Birth::kDrawn) return copies;
  if (is_widening(seed)) return copies_of_units(seed, site);
  const bool is_identity = seed.kind.blueprint->birth == Birth::kIdentityCopy;
  for (const auto& [id, tensor] : seed.module.tensors.parameters) {
    const std::string name = name_in_block(seed, id);
    std::string source = site.block->id + "." + name;
    if (!find_parameter(host, source).defined()) continue;
    const bool is_zeroed = is_identity && ends_on_residual_path(*site.block, name);
    copies.push_back({id, std::move(source), is_zeroed ? CopyKind::kZeroed : CopyKind::kWhole});
  }
  return copies;
}

void copy_block(const Seed& seed, const SlotSite& site, const TensorTable& host) {
  if (is_widening(seed)) return copy_units(seed, site, host);
  const at::NoGradGuard no_grad;
  for (const auto& [id, buffer] : seed.module.tensors.buffers) {
    torch::Tensor(buffer).copy_(find_buffer(host, site.block->id + "." + name_in_block(seed, id)));
  }
  for (const auto& [id, source, kind, share] : copies_of(seed, site, host)) {
    auto parameter = find_parameter(seed.module.tensors, id);
    if (kind == CopyKind::kZeroed) {
      parameter.zero_();
    } else {
      parameter.copy_(find_parameter(host, source));
    }
  }
}

}  // namespace esper::kasmina
