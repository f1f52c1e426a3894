#include "history/setting_change.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/loading/live_settings.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"

namespace esper::history {
namespace {

using base::Error;
using base::ExitCode;
using base::FileSystem;
using base::json_member;

constexpr std::uint64_t kMostRequestBytes = 64 << 10, kMostAcceptedBytes = 8 << 20;
constexpr std::string_view kRequest = "request-", kRefused = "refused-", kEnd = ".json";

struct RequestFile {
  RequestedSettings set;
};

constexpr auto json_members(const RequestFile*) { return std::tuple{json_member("set", &RequestFile::set)}; }

std::string accepted_path(const std::string& run) { return run + "/" + kAcceptedChanges; }

// "request-0003.json" is 3.
std::optional<std::uint32_t> number_in(std::string_view name, std::string_view begin) {
  if (!name.starts_with(begin) || !name.ends_with(kEnd) || name.size() <= begin.size() + kEnd.size()) return {};
  const auto digits = name.substr(begin.size(), name.size() - begin.size() - kEnd.size());
  const auto number = base::parse_number<std::uint32_t>(digits);
  return number && *number > 0 ? number : std::nullopt;
}

std::string named(const std::string& folder, std::string_view begin, std::uint32_t number) {
  return fmt::format("{}/{}{:04}{}", folder, begin, number, kEnd);
}

// Empty: it is a number of epochs that a run can have.
std::string why_no_epochs(const std::string& value) {
  config::RunConfig config;
  const auto rows = config::field_table(config);
  const auto& limits = std::ranges::find(rows, "epochs", &config::FieldRow::path)->limits;
  const auto number = base::parse_number<std::int64_t>(value);
  if (number && static_cast<double>(*number) >= *limits.min && static_cast<double>(*number) <= *limits.max) return {};
  return fmt::format("epochs is {}, not a whole number from {}", base::printable_line(base::in_quotes(value)),
                     config::limits_text(limits));
}

base::Expected<SettingChanges> accepted_in(std::string_view text) {
  const auto document = base::parse_json(text, kMostAcceptedBytes);
  if (!document) return base::failure(document.error());
  if (!document->is_object() || !document->contains("changes")) return base::failure("it has no \"changes\"");
  auto changes = setting_changes_from(document->at("changes"));
  if (!changes) return changes;
  for (const auto& change : *changes) {
    if (change.field != "epochs") continue;
    if (const auto why = why_no_epochs(change.value); !why.empty()) return base::failure(why);
  }
  return changes;
}

[[noreturn]] void refuse_damaged(const std::string& path, const std::string& why) {
  throw Error(ExitCode::kCheckpoint, fmt::format("{} is damaged: {}; the run cannot continue without the settings that "
                                                 "were changed while it trained: restore it",
                                                 path, why));
}

base::Expected<std::string> text_of_file(FileSystem& files, const std::string& path, std::uint64_t most_bytes) {
  try {
    return std::string(storage::text_of(storage::read_file(files, path, most_bytes)));
  } catch (const base::IoError& error) {
    if (error.error_number() != EFBIG) throw;
    return base::failure("it is too large");
  }
}

// Of everyone who leaves a request, so that no two have one number.
base::File lock_requests(FileSystem& files, const std::string& folder, base::Duration patience) {
  constexpr auto kBetweenAttempts = std::chrono::milliseconds(50);
  for (base::Duration waited{}; waited <= patience; waited += kBetweenAttempts) {
    if (auto lock = files.try_lock(folder + "/lock")) return std::move(*lock);
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  throw Error(ExitCode::kTryAgain, "another process is changing settings in " + folder + "; try again");
}

// Requests are looked at before the accepted ones: between the two, a request only moves from there to here.
std::uint32_t next_number(FileSystem& files, const std::string& run) {
  std::uint32_t last = 0;
  for (const auto& entry : files.list(changes_folder(run))) {
    last = std::max({last, number_in(entry.name, kRequest).value_or(0), number_in(entry.name, kRefused).value_or(0)});
  }
  for (const auto& change : accepted_changes(files, run)) last = std::max(last, change.request);
  return last + 1;
}

}  // namespace

constexpr auto json_members(const SettingChange*) {
  return std::tuple{json_member("epoch", &SettingChange::epoch), json_member("field", &SettingChange::field),
                    json_member("value", &SettingChange::value), json_member("request", &SettingChange::request)};
}

std::string changes_folder(const std::string& run) { return run + "/changes"; }

nlohmann::json setting_changes_json(const SettingChanges& changes) { return base::to_json(changes); }

base::Expected<SettingChanges> setting_changes_from(const nlohmann::json& list) {
  auto changes = base::from_json<SettingChanges>(list);
  if (!changes) return changes;
  for (const auto& change : *changes) {
    if (change.epoch == 0) return base::failure("epochs count from 1");
    if (!config::is_live_field(change.field)) {
      return base::failure(change.field + " is not a field that changes while a run trains");
    }
  }
  return changes;
}

SettingChanges changes_until(const SettingChanges& changes, std::uint32_t epoch) {
  SettingChanges holding;
  std::ranges::copy_if(changes, std::back_inserter(holding), [&](const auto& one) { return one.epoch <= epoch; });
  return holding;
}

std::vector<std::string> assignments_of(const SettingChanges& changes) {
  std::vector<std::string> assignments;
  for (const auto& change : changes) assignments.push_back(change.field + "=" + change.value);
  return assignments;
}

std::vector<std::string> assignments_of(const RequestedSettings& settings) {
  std::vector<std::string> assignments;
  for (const auto& [field, value] : settings) assignments.push_back(std::string(field).append("=").append(value));
  return assignments;
}

SettingChanges accepted_changes(FileSystem& files, const std::string& run) {
  const std::string path = accepted_path(run);
  const auto kind = files.kind_of(path);
  if (kind == base::PathKind::kNothing) {
    const std::string folder = changes_folder(run);
    const auto kind_above = files.kind_of(folder);
    const bool may_be_there = kind_above == base::PathKind::kNothing || kind_above == base::PathKind::kFolder;
    if (!may_be_there) refuse_damaged(folder, "it is not a folder");
    return {};
  }
  if (kind == base::PathKind::kFolder) refuse_damaged(path, "it is a folder");
  const auto text = text_of_file(files, path, kMostAcceptedBytes);
  auto changes = text ? accepted_in(*text) : base::failure(text.error());
  if (changes) return std::move(*changes);
  refuse_damaged(path, changes.error());
}

void publish_accepted(FileSystem& files, const std::string& run, const SettingChanges& changes) {
  storage::ensure_folder(files, changes_folder(run));
  const std::string text = base::json_line({{"changes", setting_changes_json(changes)}}) + "\n";
  storage::publish_file(files, accepted_path(run), storage::bytes_of(text));
}

config::RunConfig settings_at(const config::RunConfig& own, const SettingChanges& changes, std::uint32_t epoch) {
  const auto holding = changes_until(changes, epoch);
  if (holding.empty()) return own;
  auto live = config::with_live_settings(own, assignments_of(holding));
  if (live.problems.empty()) return std::move(live.config);
  throw Error(ExitCode::kCheckpoint, "the settings that were changed while the run trained are not valid: " +
                                         to_string(live.problems.front()));
}

std::vector<SettingRequest> pending_requests(FileSystem& files, const std::string& run) {
  const std::string folder = changes_folder(run);
  if (files.kind_of(folder) != base::PathKind::kFolder) return {};
  std::vector<SettingRequest> requests;
  for (const auto& entry : files.list(folder)) {
    const auto number = number_in(entry.name, kRequest);
    if (number && entry.kind == base::PathKind::kFile) requests.push_back({*number, folder + "/" + entry.name});
  }
  std::ranges::sort(requests, {}, &SettingRequest::number);
  return requests;
}

base::Expected<RequestedSettings> read_request(FileSystem& files, const SettingRequest& request) {
  const auto text = text_of_file(files, request.path, kMostRequestBytes);
  if (!text) return base::failure(text.error());
  const auto document = base::parse_json(*text, kMostRequestBytes);
  if (!document) return base::failure(document.error());
  auto file = base::from_json<RequestFile>(*document);
  if (!file) return base::failure(file.error());
  if (file->set.empty()) return base::failure("it sets nothing");
  return std::move(file->set);
}

SettingRequest publish_request(FileSystem& files, const std::string& run, const RequestedSettings& settings,
                               base::Duration patience) {
  const std::string folder = changes_folder(run);
  storage::ensure_folder(files, folder);
  const auto lock = lock_requests(files, folder, patience);
  storage::remove_leftovers_under_lock(files, folder, [](std::string_view name) { return name.starts_with(kRequest); });
  const auto number = next_number(files, run);
  const SettingRequest request{number, named(folder, kRequest, number)};
  const std::string text = base::json_line(base::to_json(RequestFile{settings})) + "\n";
  storage::publish_file(files, request.path, storage::bytes_of(text));
  return request;
}

void set_aside(FileSystem& files, const SettingRequest& request) {
  const std::string folder = storage::parent_of(request.path);
  files.rename(request.path, named(folder, kRefused, request.number));
  files.sync_folder(folder);
}

}  // namespace esper::history
