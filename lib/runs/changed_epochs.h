#pragma once
// How many epochs `esper set` gave a run, which its config.yaml does not have. Any thread.

#include <cstdint>
#include <optional>
#include <string>

namespace esper::runs {

// What the run accepted last; none where it accepted no number of epochs. Follows no link below the run folder. Throws
// as history::accepted_changes().
std::optional<std::int64_t> changed_epochs(const std::string& run);

}  // namespace esper::runs
