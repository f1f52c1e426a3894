#pragma once
// From a user's assignments to a request for a run that trains (setting_change.h): for `esper set` and the daemon
// alike. Any thread.

#include <string>
#include <tuple>
#include <vector>

#include "base/text/json_struct.h"
#include "history/setting_change.h"

namespace esper::history {

// Values as in a run file.
struct FieldChange {
  std::string field, before, after;
};
constexpr auto json_members(const FieldChange*) {
  using base::json_member;
  return std::tuple{json_member("field", &FieldChange::field), json_member("before", &FieldChange::before),
                    json_member("after", &FieldChange::after)};
}

// Throws Error{kConfig} where a word is no KEY=VALUE.
void require_assignments(const std::vector<std::string>& words);

// The assigned fields that get another value than they have, or will have once the requests that lie there are
// accepted; by name. own: as the run began. Throws ConfigError with all problems, Error and IoError.
std::vector<FieldChange> changes_to_request(base::FileSystem& files, const std::string& run,
                                            const config::RunConfig& own, const std::vector<std::string>& assignments);
// The settings with these changes and all requests that lie there. Throws likewise.
config::RunConfig settings_with(base::FileSystem& files, const std::string& run, const config::RunConfig& own,
                                const std::vector<std::string>& assignments);
// What to give to publish_request().
RequestedSettings settings_of(const std::vector<FieldChange>& changes);

bool sets_epochs(const SettingChanges& changes);
// "esper train --resume RUN --set epochs=N"; where the run accepted epochs from `esper set`, which alone can change
// them then: "esper set RUN epochs=N".
std::string command_for_epochs(const std::string& run, const SettingChanges& accepted);

}  // namespace esper::history
