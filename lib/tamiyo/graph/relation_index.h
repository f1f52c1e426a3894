#pragma once
// Places in the table of relations, by name. Any thread.

#include <cstddef>
#include <string_view>

#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

// A relation that the table lacks does not compile.
consteval std::size_t relation_index(NodeType source, std::string_view name) {
  for (std::size_t i = 0; i < kRelationTable.size(); ++i) {
    if (kRelationTable[i].source == source && kRelationTable[i].name == name) return i;
  }
  throw "no such relation";
}

}  // namespace esper::tamiyo
