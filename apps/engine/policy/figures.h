#pragma once
// A policy file for a person, and as JSON. Pure functions but for print_policy().

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tamiyo/network/policy_file.h"

namespace esper::engine {

struct ShownPolicy {
  std::string path;
  std::uint64_t bytes = 0;  // of the file
  std::size_t tensors = 0;  // in the file; the others are drawn
  tamiyo::PolicyFile policy;
};

// Reads and checks a file. Throws Error{kPolicy} with what is wrong with it, and IoError.
ShownPolicy read_shown_policy(const std::string& path);

// On standard output.
void print_policy(const ShownPolicy& shown);
nlohmann::ordered_json policy_json(const ShownPolicy& shown);

}  // namespace esper::engine
