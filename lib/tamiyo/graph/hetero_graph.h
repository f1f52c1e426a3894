#pragma once
// The graph that the policy network reads: nodes of six types, edges of twenty-one relations. Plain data. Any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace esper::tamiyo {

enum class NodeType : std::uint8_t { kGlobal, kSeed, kBlueprint, kLayer, kActivation, kParameter };
constexpr auto names(NodeType) {
  using T = NodeType;
  return std::array{std::pair{T::kGlobal, "global"},         std::pair{T::kSeed, "seed"},
                    std::pair{T::kBlueprint, "blueprint"},   std::pair{T::kLayer, "layer"},
                    std::pair{T::kActivation, "activation"}, std::pair{T::kParameter, "parameter"}};
}

inline constexpr int kNodeTypes = 6;
inline constexpr std::array<int, kNodeTypes> kNodeFeatures = {16, 14, 14, 12, 8, 10};  // by NodeType
inline constexpr int kEdgeFeatures = 3;

struct Relation {
  NodeType source;
  std::string_view name;
  NodeType target;
};

inline constexpr int kRelations = 21;

// Weights of the network are named by these, so names and order are part of the contract.
inline constexpr std::array<Relation, kRelations> kRelationTable = {{
    {NodeType::kGlobal, "influences", NodeType::kSeed},
    {NodeType::kSeed, "reports", NodeType::kGlobal},
    {NodeType::kGlobal, "annotates", NodeType::kBlueprint},
    {NodeType::kBlueprint, "monitored_by", NodeType::kGlobal},
    {NodeType::kSeed, "peer", NodeType::kSeed},
    {NodeType::kGlobal, "operates", NodeType::kLayer},
    {NodeType::kLayer, "feedback", NodeType::kGlobal},
    {NodeType::kLayer, "activates", NodeType::kActivation},
    {NodeType::kActivation, "affects", NodeType::kLayer},
    {NodeType::kActivation, "configures", NodeType::kParameter},
    {NodeType::kParameter, "modulates", NodeType::kActivation},
    {NodeType::kSeed, "allowed", NodeType::kParameter},
    {NodeType::kParameter, "associated", NodeType::kSeed},
    {NodeType::kBlueprint, "composes", NodeType::kLayer},
    {NodeType::kLayer, "belongs_to", NodeType::kBlueprint},
    {NodeType::kBlueprint, "energizes", NodeType::kActivation},
    {NodeType::kParameter, "targets", NodeType::kBlueprint},
    {NodeType::kLayer, "connects", NodeType::kLayer},
    {NodeType::kSeed, "monitors", NodeType::kLayer},
    {NodeType::kLayer, "monitored_by", NodeType::kSeed},
    {NodeType::kLayer, "feeds", NodeType::kActivation},
}};

struct NodeTable {
  int count = 0;
  std::vector<float> features;  // [count, kNodeFeatures[type]], row by row
};

// One entry an edge; numbers of nodes within their types.
struct EdgeList {
  std::vector<std::int32_t> source, target;
  std::vector<float> attributes;  // [edges, kEdgeFeatures], row by row
};

struct HeteroGraph {
  std::array<NodeTable, kNodeTypes> nodes;  // by NodeType
  std::array<EdgeList, kRelations> edges;   // by place in kRelationTable
};

}  // namespace esper::tamiyo
