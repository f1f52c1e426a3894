#pragma once
// The owner of each parameter: the host or one seed, exactly one of them. Training thread.

#include <map>
#include <string>
#include <vector>

#include "kasmina/tensor/tensor_table.h"

namespace esper::kasmina {

inline constexpr const char* kHostOwner = "host";

class OwnershipRegistry {
 public:
  // Assigns parameters without an owner; one that already has an owner is a bug.
  void claim(const std::vector<NamedTensor>& parameters, const std::string& owner);
  // Moves the parameters of a fossilised seed to the host.
  void transfer(const std::string& from, const std::string& to);
  void release(const std::string& owner);
  // Removes a deleted parameter, whoever owns it; one without an owner is a bug.
  void release_parameter(const std::string& parameter_id);
  const std::string& owner_of(const std::string& parameter_id) const;
  std::size_t size() const { return owners_.size(); }

 private:
  std::map<std::string, std::string> owners_;  // by parameter id
};

}  // namespace esper::kasmina
