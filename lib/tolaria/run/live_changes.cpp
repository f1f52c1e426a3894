#include "tolaria/run/live_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/signal_point.h"
#include "base/text/joined.h"
#include "base/text/json_struct.h"
#include "config/loading/live_settings.h"
#include "leyline/telemetry/telemetry.h"
#include "storage/file_tools.h"

namespace esper::tolaria {
namespace {

using history::SettingChange;
using history::SettingChanges;
using history::SettingRequest;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

constexpr std::size_t kMostRequestsAtOnce = 64;

std::string problems_text(const std::vector<base::Problem>& problems) {
  return base::joined(problems, "; ", [](const auto& problem) { return problem.path + ": " + problem.text; });
}

// The changes of a request from this epoch on, with each value as the configuration has it. The settings must be valid
// in every epoch from then on: those accepted for a later epoch before the run went back may be among them.
base::Expected<SettingChanges> changes_of(const config::RunConfig& own, const SettingChanges& accepted,
                                          const history::RequestedSettings& settings, const SettingChange& origin) {
  if (accepted.size() + settings.size() > history::kMostSettingChanges) {
    return base::failure(
        fmt::format("settings were changed {} times, the most that a run can record", accepted.size()));
  }
  std::set<std::uint32_t> epochs{origin.epoch};
  for (const auto& change : accepted) epochs.insert(std::max(change.epoch, origin.epoch));
  SettingChanges changes;
  for (const auto epoch : epochs) {
    auto assignments = history::assignments_of(history::changes_until(accepted, epoch));
    std::ranges::copy(history::assignments_of(settings), std::back_inserter(assignments));
    const auto live = config::with_live_settings(own, assignments);
    if (!live.problems.empty()) return base::failure(problems_text(live.problems));
    if (live.config.epochs < static_cast<int>(origin.epoch) && settings.contains("epochs")) {
      return base::failure(fmt::format("epochs: {} are trained already; it must be more than that", origin.epoch - 1));
    }
    changes.clear();
    for (const auto& [field, value] : settings) {
      changes.push_back({origin.epoch, field, config::live_value(live.config, field), origin.request});
    }
  }
  return changes;
}

}  // namespace

LiveChanges::LiveChanges(base::FileSystem& files, std::string run, const ChangeableRun& of)
    : files_(files),
      run_(std::move(run)),
      of_(of),
      own_(of.facts.config),
      accepted_(history::accepted_changes(files, run_)) {
  enter(of_.progress.trained_epoch());
}

void LiveChanges::begin_epoch() {
  const std::uint32_t epoch = of_.progress.epoch + 1;
  if (of_.progress.batch > 0) return;
  std::vector<SettingRequest> requests;
  const bool taken = succeeds([&] { requests = take_requests(epoch); });
  enter(epoch);
  report_changes(epoch);
  if (taken && succeeds([&] { remove_known(requests); })) failing_ = false;
}

bool LiveChanges::succeeds(const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const base::IoError& error) {
    if (!std::exchange(failing_, true)) {
      of_.outbox.emit(event("tolaria.setting_refused"_event, Level::kWarning, {{"reason", error.what()}}));
    }
    return false;
  }
}

bool LiveChanges::is_known(const SettingRequest& request) const {
  return std::ranges::count(accepted_, request.number, &SettingChange::request) > 0;
}

std::vector<SettingRequest> LiveChanges::take_requests(std::uint32_t epoch) {
  auto requests = history::pending_requests(files_, run_);
  if (requests.empty() && !unsure_) return requests;
  requests.resize(std::min(requests.size(), kMostRequestsAtOnce));
  accept(requests, epoch);
  return requests;
}

// Also those that were accepted by a process that ended before it removed them.
void LiveChanges::remove_known(const std::vector<SettingRequest>& requests) {
  for (const auto& request : requests) {
    if (!is_known(request)) continue;
    base::fault::kill_point("tolaria.setting_recorded");
    storage::remove_all(files_, request.path);
  }
}

void LiveChanges::accept(const std::vector<SettingRequest>& requests, std::uint32_t epoch) {
  auto accepted = accepted_;
  for (const auto& request : requests) {
    if (is_known(request)) continue;
    const auto settings = history::read_request(files_, request);
    if (!settings) {
      refuse(request, settings.error());
      continue;
    }
    const auto changes = changes_of(own_, accepted, *settings, {epoch, {}, {}, request.number});
    if (changes) {
      std::ranges::copy(*changes, std::back_inserter(accepted));
    } else {
      refuse(request, changes.error());
    }
  }
  if (accepted == accepted_ && !unsure_) return;
  unsure_ = true;
  history::publish_accepted(files_, run_, accepted);
  unsure_ = false;
  accepted_ = std::move(accepted);
  base::fault::kill_point("tolaria.setting_accepted");
}

void LiveChanges::refuse(const SettingRequest& request, const std::string& reason) {
  history::set_aside(files_, request);
  of_.outbox.emit(
      event("tolaria.setting_refused"_event, Level::kWarning, {{"path", request.path}, {"reason", reason}}));
}

// Where the settings are already those of the epoch, they stay untouched.
void LiveChanges::enter(std::uint32_t epoch) {
  of_.progress.changes = history::changes_until(accepted_, epoch);
  if (of_.progress.changes == held_) return;
  held_ = of_.progress.changes;
  config::take_live_fields(history::settings_at(own_, held_, epoch), of_.facts.config);
}

void LiveChanges::report_changes(std::uint32_t epoch) {
  std::set<std::string> fields;
  for (const auto& change : accepted_) {
    if (change.epoch == epoch) fields.insert(change.field);
  }
  if (fields.empty()) return;
  const auto before = history::settings_at(own_, accepted_, epoch - 1);
  for (const auto& field : fields) {
    const std::string from = config::live_value(before, field), to = config::live_value(of_.facts.config, field);
    of_.saver.record(base::json_line({{"what", "set"},
                                      {"epoch", epoch},
                                      {"step", of_.progress.step},
                                      {"field", field},
                                      {"before", from},
                                      {"after", to}}));
    of_.outbox.emit(event("tolaria.setting_changed"_event, Level::kInfo,
                          {{"field", field}, {"before", from}, {"after", to}, {"epoch", std::to_string(epoch)}}));
  }
}

}  // namespace esper::tolaria
