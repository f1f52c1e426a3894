#pragma once
// `esper submit --repeat`. Any thread.

#include <cstdint>
#include <string>
#include <vector>

namespace esper {

// "seeds=1..5", "seeds=1,2,7": the seeds. Throws Error or ConfigError, with all problems and the way out.
std::vector<std::uint64_t> seeds_in(const std::string& repeat);

}  // namespace esper
