#pragma once
// Settings that were changed while a run trained: requests that `esper set` leaves in RUN/changes, and the list of
// accepted ones beside them, which the training publishes before it follows them. Any thread.
//
//   changes/request-0003.json   {"set": {"training.optimizer.lr": "0.01"}}
//   changes/accepted.json       {"changes": [{"epoch": 5, "field": "training.optimizer.lr", "value": "0.01",
//                                             "request": 3}]}
//   changes/refused-0004.json   a request that the training did not accept

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file_system.h"
#include "base/quantity.h"
#include "config/run_config.h"

namespace esper::history {

// From epoch `epoch` on, counted from 1, `field` has the value.
struct SettingChange {
  std::uint32_t epoch = 0;
  std::string field, value;
  std::uint32_t request = 0;  // the number of the request that it came with
  bool operator==(const SettingChange&) const = default;
};
// In the order in which they were accepted: a later one overrides an earlier one.
using SettingChanges = std::vector<SettingChange>;

constexpr std::size_t kMostSettingChanges = 10'000;  // of a run

// As a list, for accepted.json and for checkpoints. Fields that are not live are refused.
nlohmann::json setting_changes_json(const SettingChanges& changes);
base::Expected<SettingChanges> setting_changes_from(const nlohmann::json& list);

// Those that hold in this epoch.
SettingChanges changes_until(const SettingChanges& changes, std::uint32_t epoch);
// "field=value"
std::vector<std::string> assignments_of(const SettingChanges& changes);

// In a run folder: the accepted changes.
inline constexpr const char* kAcceptedChanges = "changes/accepted.json";
// "RUN/changes"
std::string changes_folder(const std::string& run);

// Those that the run accepted so far; none where there is no such file. Throws Error{kCheckpoint} for a damaged file,
// also one whose epochs no run can have, for a folder in its place, and for a changes folder that is none, and IoError.
SettingChanges accepted_changes(base::FileSystem& files, const std::string& run);
void publish_accepted(base::FileSystem& files, const std::string& run, const SettingChanges& changes);

// A run's own configuration with the changes that hold in an epoch. Throws Error{kCheckpoint} where they do not lead to
// a valid one.
config::RunConfig settings_at(const config::RunConfig& own, const SettingChanges& changes, std::uint32_t epoch);

struct SettingRequest {
  std::uint32_t number = 0;
  std::string path;
};
using RequestedSettings = std::map<std::string, std::string>;  // value by field

std::vector<std::string> assignments_of(const RequestedSettings& settings);

// Those that lie there, by number. One call to the file system where the run has none.
std::vector<SettingRequest> pending_requests(base::FileSystem& files, const std::string& run);
// Throws IoError; a failure is one of the text.
base::Expected<RequestedSettings> read_request(base::FileSystem& files, const SettingRequest& request);
// Leaves one, durably. Throws Error{kTryAgain} where other processes do the same for longer than `patience`, and
// IoError.
SettingRequest publish_request(base::FileSystem& files, const std::string& run, const RequestedSettings& settings,
                               base::Duration patience = std::chrono::seconds(2));
// Puts a request aside that was not accepted.
void set_aside(base::FileSystem& files, const SettingRequest& request);

}  // namespace esper::history
