#include "tolaria/growth/host_blocks.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/parse_number.h"
#include "config/facts/slot_geometry.h"
#include "leyline/blueprint/blueprint_sizes.h"
#include "leyline/blueprint/blueprint_table.h"
#include "leyline/slot_id.h"

namespace esper::tolaria {

using config::HostConfig;
using config::HostKind;
using leyline::ActivationKind;
using leyline::BlockKind;
using leyline::BlockState;

namespace {

// "host.block0" of "host.block0.linear.weight".
std::string_view block_of(std::string_view parameter) {
  const auto first = parameter.find('.');
  return parameter.substr(0, first == std::string_view::npos ? first : parameter.find('.', first + 1));
}

// 3 of "host.block3" and "block"; nothing of another name.
std::optional<std::int64_t> number_of(std::string_view block, std::string_view name) {
  constexpr std::string_view kHost = "host.";
  if (!block.starts_with(kHost)) return std::nullopt;
  block.remove_prefix(kHost.size());
  if (!block.starts_with(name)) return std::nullopt;
  return base::parse_number<std::int64_t>(block.substr(name.size()));
}

// The slot behind a transformer's layer; empty within a segment.
std::string slot_behind(const HostConfig& host, std::int64_t layer) {
  for (std::int64_t segment = 0; segment < host.segments; ++segment) {
    if ((segment + 1) * host.layers / host.segments == layer + 1) {
      return leyline::slot_id_of(static_cast<std::size_t>(segment));
    }
  }
  return {};
}

// A block that is none of the numbered ones.
BlockKind kind_of(std::string_view block) {
  if (block == "host.head") return BlockKind::kHead;
  if (block == "host.norm") return BlockKind::kNorm;
  if (block == "host.tokens" || block == "host.positions") return BlockKind::kEmbedding;
  return BlockKind::kUnknown;
}

BlockState describe(const HostConfig& host, std::string_view id) {
  BlockState block{.id = std::string(id), .kind = kind_of(id), .dropout = 0};
  if (host.kind == HostKind::kExported) return block;
  if (const auto layer = number_of(id, "layer")) {
    block.slot = slot_behind(host, *layer);
    block.kind = BlockKind::kTransformer;
    block.activation = ActivationKind::kGelu;
    block.activation_units = leyline::token_mlp_width(host.embedding);
    block.dropout = host.dropout;
  }
  if (const auto number = number_of(id, "block")) {
    const bool is_cnn = host.kind == HostKind::kCnn;
    const auto place = static_cast<std::size_t>(*number);
    block.slot = leyline::slot_id_of(place);
    block.kind = is_cnn ? BlockKind::kConvolution : BlockKind::kDense;
    block.activation = ActivationKind::kRelu;
    if (is_cnn) block.activation_units = config::block_channels(host, *number);
    if (!is_cnn && place < host.hidden.size()) block.activation_units = host.hidden[place];
    if (!is_cnn) block.dropout = host.dropout;
  }
  return block;
}

// The block that a parameter belongs to.
BlockState describe_at(const HostConfig& host, std::span<const kasmina::SlotSite> sites, std::string_view id) {
  const auto ends_at = std::ranges::find_if(sites, [id](const kasmina::SlotSite& site) {
    return !site.path.empty() && id.starts_with("host." + site.path + ".");
  });
  if (host.kind != HostKind::kExported || ends_at == sites.end()) return describe(host, block_of(id));
  return {.id = "host." + ends_at->path, .slot = ends_at->id, .dropout = 0};
}

}  // namespace

std::vector<BlockState> host_blocks(const HostConfig& host, std::span<const kasmina::NamedTensor> parameters,
                                    std::span<const kasmina::SlotSite> sites) {
  std::vector<BlockState> blocks;
  for (const auto& [id, tensor] : parameters) {
    auto block = describe_at(host, sites, id);
    const auto known = std::ranges::find(blocks, block.id, &BlockState::id);
    auto& own = known == blocks.end() ? blocks.emplace_back(std::move(block)) : *known;
    own.params += tensor.numel();
  }
  return blocks;
}

void describe_slots(std::span<const kasmina::SlotSite> sites, std::vector<leyline::SlotState>& slots) {
  for (auto& slot : slots) {
    const auto site = std::ranges::find(sites, slot.slot, &kasmina::SlotSite::id);
    if (site == sites.end()) continue;
    slot.kind = site->shape.kind;
    for (const auto& name : slot.blueprints) {
      const auto* facts = leyline::find_blueprint_facts(name, slot.kind);
      ESPER_CHECK(facts, "a slot offers what the catalogue lacks: " + name);
      slot.parameters.push_back(facts->num_parameters(site->shape));
    }
  }
}

}  // namespace esper::tolaria
