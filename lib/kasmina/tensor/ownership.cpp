#include "kasmina/tensor/ownership.h"

#include "base/error.h"

namespace esper::kasmina {

void OwnershipRegistry::claim(const std::vector<NamedTensor>& parameters, const std::string& owner) {
  for (const auto& parameter : parameters) {
    const auto [entry, is_new] = owners_.emplace(parameter.id, owner);
    ESPER_CHECK(is_new, "parameter " + parameter.id + " belongs to " + entry->second + " already");
  }
}

void OwnershipRegistry::transfer(const std::string& from, const std::string& to) {
  for (auto& [id, owner] : owners_) {
    if (owner == from) owner = to;
  }
}

void OwnershipRegistry::release(const std::string& owner) {
  std::erase_if(owners_, [&](const auto& entry) { return entry.second == owner; });
}

void OwnershipRegistry::release_parameter(const std::string& parameter_id) {
  ESPER_CHECK(owners_.erase(parameter_id) == 1, "parameter " + parameter_id + " has no owner");
}

const std::string& OwnershipRegistry::owner_of(const std::string& parameter_id) const {
  const auto entry = owners_.find(parameter_id);
  ESPER_CHECK(entry != owners_.end(), "parameter " + parameter_id + " has no owner");
  return entry->second;
}

}  // namespace esper::kasmina
