#pragma once
// Numbers of a run's files that may be damaged, and the gap that reports those that are. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace esper::history {

// Nothing where it is missing or null; another value that is no count adds to `damaged`.
std::optional<std::int64_t> recorded_count(const nlohmann::json& object, const std::string& name, std::size_t& damaged);

// what: "time" or "count". Adds nothing where count is 0.
void note_damaged(std::size_t count, std::string_view what, std::string_view file, std::vector<std::string>& gaps);

}  // namespace esper::history
