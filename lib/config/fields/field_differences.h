#pragma once
// In which fields configurations differ. Any thread.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace esper::config {

// A field whose value is not the same in all of them; its values in their order.
struct FieldDifference {
  std::string path;
  std::vector<std::string> yaml;
  std::vector<nlohmann::ordered_json> json;
};

std::vector<FieldDifference> differing_fields(std::vector<RunConfig> configs);

}  // namespace esper::config
