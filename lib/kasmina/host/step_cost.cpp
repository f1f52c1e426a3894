#include "kasmina/host/step_cost.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace esper::kasmina {
namespace {

// 2 of "host.block2.conv.weight" and "host.layer2.mlp.up.weight".
std::optional<std::size_t> block_index(std::string_view id) {
  for (const std::string_view scope : {"host.block", "host.layer"}) {
    if (!id.starts_with(scope)) continue;
    std::size_t index = 0;
    const auto digits = id.substr(scope.size());
    if (std::from_chars(digits.data(), digits.data() + digits.size(), index).ec == std::errc()) return index;
  }
  return std::nullopt;
}

double positions_at(const Host& host, std::size_t site) {
  return static_cast<double>(host.sites[std::min(site, host.sites.size() - 1)].shape.positions().value_or(1));
}

// The slot of an imported network whose module has most of the parameter's name in common with it.
std::size_t nearest_site(const Host& host, std::string_view id) {
  const auto in_common = [&](const SlotSite& site) {
    const std::string path = "host." + site.path;
    return std::ranges::mismatch(path, id).in1 - path.begin();
  };
  return static_cast<std::size_t>(std::ranges::max_element(host.sites, {}, in_common) - host.sites.begin());
}

// How often a forward uses each number of this weight.
double uses_of(const Host& host, std::string_view id, std::int64_t rank) {
  constexpr std::int64_t kConvolution = 4;
  const SlotSite& last = host.sites.back();
  if (!last.path.empty() && (rank == kConvolution || last.shape.kind == FeatureKind::kSequence)) {
    return positions_at(host, nearest_site(host, id));
  }
  if (!last.path.empty()) return 1;
  if (const auto block = block_index(id)) {
    // A block that pools computes at the resolution that comes in.
    return std::max(positions_at(host, *block), positions_at(host, *block == 0 ? 0 : *block - 1));
  }
  if (id.starts_with("host.positions")) return 0;  // looked up
  return host.sites.back().shape.kind == FeatureKind::kSequence ? positions_at(host, host.sites.size() - 1) : 1;
}

}  // namespace

double host_flops(const Host& host) {
  double flops = 0;
  if (host.sites.empty()) return flops;
  for (const auto& [id, tensor] : host.tensors.parameters) {
    if (tensor.dim() >= 2) flops += static_cast<double>(tensor.numel()) * uses_of(host, id, tensor.dim());
  }
  return flops;
}

}  // namespace esper::kasmina
