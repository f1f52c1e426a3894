#include "lanes/structure/structure_library.h"

#include <algorithm>

namespace esper::lanes {

KnownStructure* StructureLibrary::find(const std::string& structure) {
  const auto found = std::ranges::find(known_, structure, &KnownStructure::structure);
  if (found == known_.end()) return nullptr;
  known_.splice(known_.begin(), known_, found);
  return &known_.front();
}

KnownStructure& StructureLibrary::put(KnownStructure known) {
  drop(known.structure);
  known_.push_front(std::move(known));
  if (known_.size() > kMost) known_.pop_back();
  return known_.front();
}

void StructureLibrary::drop(const std::string& structure) {
  std::erase_if(known_, [&](const KnownStructure& known) { return known.structure == structure; });
}

}  // namespace esper::lanes
