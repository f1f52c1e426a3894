#include "lanes/lane/seed_aliases.h"

#include <fmt/core.h>

#include <cctype>

#include "kasmina/tensor/ownership.h"

namespace esper::lanes {

SeedAliases::SeedAliases(const step::Model& model) {
  for (const auto& group : model.network.parameter_groups()) {
    if (group.id != kasmina::kHostOwner) ids_.push_back(group.id);
  }
}

std::string SeedAliases::rename(const std::string& name) const {
  std::string text = name;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::string& id = ids_[i];
    for (auto at = text.find(id); at != std::string::npos; at = text.find(id, at + 1)) {
      const auto end = at + id.size();  // seed-1000 is a prefix of seed-10000
      if (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) continue;
      text.replace(at, id.size(), fmt::format("seed.{}", i + 1));
    }
  }
  return text;
}

}  // namespace esper::lanes
