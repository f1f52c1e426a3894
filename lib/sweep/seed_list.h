#pragma once
#include <cstdint>
#include <vector>

#include "base/text/problem.h"
#include "config/yaml/yaml_document.h"

namespace esper::sweep {

// The seeds of a sweep file: "[1, 2, 3]" or "1..3", each once, SweepLimits::kJobs at most. What is wrong goes to
// `problems`; then it returns those that could be read. Any thread.
std::vector<std::uint64_t> read_seeds(const config::YamlNode& node, std::vector<base::Problem>& problems);

}  // namespace esper::sweep
