#include "tamiyo/graph/hetero_graph.h"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "base/names.h"
#include "tamiyo/graph/node_caps.h"
#include "tamiyo/graph/relation_index.h"

namespace esper::tamiyo::hetero_graph_test {
namespace {

TEST_CASE("the relations are those that weights are named by, in their order") {
  std::vector<std::string> relations;
  for (const auto& [source, name, target] : kRelationTable) {
    relations.push_back(std::string(base::name_of(source)) + " " + std::string(name) + " " +
                        std::string(base::name_of(target)));
  }
  CHECK(relations == std::vector<std::string>{"global influences seed",
                                              "seed reports global",
                                              "global annotates blueprint",
                                              "blueprint monitored_by global",
                                              "seed peer seed",
                                              "global operates layer",
                                              "layer feedback global",
                                              "layer activates activation",
                                              "activation affects layer",
                                              "activation configures parameter",
                                              "parameter modulates activation",
                                              "seed allowed parameter",
                                              "parameter associated seed",
                                              "blueprint composes layer",
                                              "layer belongs_to blueprint",
                                              "blueprint energizes activation",
                                              "parameter targets blueprint",
                                              "layer connects layer",
                                              "seed monitors layer",
                                              "layer monitored_by seed",
                                              "layer feeds activation"});
}

TEST_CASE("a relation is found by its source and name") {
  static_assert(relation_index(NodeType::kGlobal, "influences") == 0);
  static_assert(relation_index(NodeType::kBlueprint, "monitored_by") == 3);
  static_assert(relation_index(NodeType::kLayer, "monitored_by") == 19);
}

TEST_CASE("a layer's activation always has a place") {
  const auto cap = [](NodeType type) { return kNodeCaps[static_cast<std::size_t>(type)]; };
  CHECK(cap(NodeType::kActivation) >= cap(NodeType::kLayer));
}

}  // namespace
}  // namespace esper::tamiyo::hetero_graph_test
