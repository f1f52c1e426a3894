#pragma once
// What a network consists of, for users: names as host.freeze has them, shapes and counts. Training thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/text/json_struct.h"
#include "kasmina/network/network_state.h"
#include "leyline/seed.h"

namespace esper::kasmina {

struct ParameterShape {
  std::string name{};  // within its layer: "weight"
  std::vector<std::int64_t> shape{};
};
constexpr auto json_members(const ParameterShape*) {
  using base::json_member;
  using P = ParameterShape;
  return std::tuple{json_member("name", &P::name), json_member("shape", &P::shape)};
}

// A module of the host, those in it included where the host has many; or a parameter that is in no module.
struct LayerSummary {
  std::string name{};  // "block0.conv"
  std::int64_t tensors = 0, parameters = 0;
  std::int64_t trainable = 0;            // of `parameters`; the others are frozen
  std::vector<ParameterShape> shapes{};  // in order of creation; empty where there are more than kMostShapes
};
constexpr auto json_members(const LayerSummary*) {
  using base::json_member;
  using L = LayerSummary;
  return std::tuple{json_member("name", &L::name), json_member("tensors", &L::tensors),
                    json_member("parameters", &L::parameters), json_member("trainable", &L::trainable),
                    json_member("shapes", &L::shapes)};
}

struct SeedSummary {
  std::string seed_id{}, blueprint{};
  leyline::Stage stage = leyline::Stage::kUnknown;
  std::int64_t parameters = 0;  // beside the host's
};
constexpr auto json_members(const SeedSummary*) {
  using base::json_member;
  using S = SeedSummary;
  return std::tuple{json_member("seed_id", &S::seed_id), json_member("blueprint", &S::blueprint),
                    json_member("stage", &S::stage), json_member("parameters", &S::parameters)};
}

struct SlotSummary {
  std::string slot{}, path{};  // path: SlotSite::path
  leyline::FeatureKind kind = leyline::FeatureKind::kFeatures;
  std::vector<std::int64_t> shape{};  // of the feature, without the batch
  std::optional<SeedSummary> seed{};
};
constexpr auto json_members(const SlotSummary*) {
  using base::json_member;
  using S = SlotSummary;
  return std::tuple{json_member("slot", &S::slot), json_member("path", &S::path), json_member("kind", &S::kind),
                    json_member("shape", &S::shape), json_member("seed", &S::seed)};
}

struct NetworkSummary {
  std::vector<LayerSummary> layers{};            // of the host, in order of creation
  std::vector<SlotSummary> slots{};              // that hold a seed, or where one may grow
  std::int64_t more_layers = 0, more_slots = 0;  // that are left out
};
constexpr auto json_members(const NetworkSummary*) {
  using base::json_member;
  using N = NetworkSummary;
  return std::tuple{json_member("layers", &N::layers), json_member("more_layers", &N::more_layers),
                    json_member("slots", &N::slots), json_member("more_slots", &N::more_slots)};
}

inline constexpr std::size_t kMostShapes = 8;
inline constexpr std::size_t kMostSummaryRows = 100;

// most: layers and slots, each. Where the host has more layers, those inside of the same module are one, as deep in the
// names as there is room for.
NetworkSummary summary_of(const NetworkState& network, std::size_t most = kMostSummaryRows);

}  // namespace esper::kasmina
