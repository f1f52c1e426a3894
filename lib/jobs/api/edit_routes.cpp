#include "jobs/api/edit_routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "base/file_system.h"
#include "base/text/joined.h"
#include "history/live_request.h"
#include "history/run_config.h"
#include "jobs/api/responses.h"
#include "jobs/api/submission_check.h"
#include "jobs/job/job_states.h"
#include "jobs/job/run_folder.h"
#include "runs/ended_run.h"
#include "runs/reached_epoch.h"
#include "storage/confined_file_system.h"

namespace esper::jobs {
namespace {

using base::ExitCode;
using http::Request;
using http::Response;

// The loop's thread may not wait for long where another process keeps the run's requests locked.
constexpr auto kLockPatience = std::chrono::milliseconds(100);

struct SettingsToChange {
  std::vector<std::string> assignments{};
};
constexpr auto json_members(const SettingsToChange*) {
  return std::tuple{base::json_member("assignments", &SettingsToChange::assignments)};
}

int status_of(const base::Error& error) {
  if (error.code() == ExitCode::kConfig) return 400;
  if (error.code() == ExitCode::kResources) {
    const auto* failed = dynamic_cast<const base::IoError*>(&error);
    const int number = failed != nullptr ? failed->error_number() : 0;
    return number == ENOSPC || number == EDQUOT ? 507 : 500;
  }
  return error.code() == ExitCode::kTryAgain ? 503 : 409;
}

}  // namespace

void EditRoutes::add_to(Router& router) {
  router.add("PATCH", "/v1/jobs/{id}", [this](const Request& request, JobId id) { return edit(request, id); });
  router.add("POST", "/v1/jobs/{id}/set", [this](const Request& request, JobId id) { return set(request, id); });
}

Response EditRoutes::edit(const Request& request, JobId id) {
  const auto change = body_of<JobChange>(request);
  if (!change) return refusal(400, change.error());
  if (const std::string mistakes = mistakes_in(*change); !mistakes.empty()) return refusal(400, mistakes);
  const auto job = store_.find(id);
  if (!job) return no_such_job(id);
  if (change->config && queue_.forecasts().run_file_of(*job) != change->config_before)
    return refusal(412, fmt::format("the run file of job {} was changed meanwhile; read it again and repeat", id));
  const auto edited = queue_.edit(id, *change, uid_of(request));
  return edited ? json_response(base::to_json(*edited)) : refusal(409, edited.error());
}

Response EditRoutes::set(const Request& request, JobId id) {
  const auto asked = body_of<SettingsToChange>(request);
  if (!asked) return refusal(400, asked.error());
  if (asked->assignments.empty()) return refusal(400, "assignments: needs at least one, like epochs=20");
  if (asked->assignments.size() > kMostAssignments) {
    return refusal(400, fmt::format("assignments: at most {}, found {}", kMostAssignments, asked->assignments.size()));
  }
  const auto job = store_.find(id);
  if (!job) return no_such_job(id);
  if (job->state == JobState::kSucceeded) {
    return refusal(409, fmt::format("job {} has ended: it succeeded, and does not train any more; its run can go on "
                                    "without the daemon: esper set {}, esper train --resume {}",
                                    id, job->run_dir, job->run_dir));
  }
  try {
    return set_in_run(*job, asked->assignments, uid_of(request));
  } catch (const DatabaseError&) {
    throw;
  } catch (const base::Error& error) {  // also ConfigError, with one line for each problem
    if (error.code() == ExitCode::kBug) throw;
    return refusal(status_of(error), error.what());
  }
}

Response EditRoutes::set_in_run(const Job& job, const std::vector<std::string>& assignments, std::int64_t uid) {
  if (job.attempts == 0 || !has_run_folder(job.run_dir)) {
    if (is_active(job.state)) return refusal(503, fmt::format("job {} is just starting: try again", job.id));
    return refusal(409, fmt::format("job {} has no run yet: change its run file with esper job edit {} --set {}",
                                    job.id, job.id, base::joined(assignments, " ")));
  }
  const auto own = history::read_config_of_run(job.run_dir).config;
  storage::ConfinedFileSystem files(job.run_dir, storage::Owner::kAnyone);
  const auto changes = history::changes_to_request(files, job.run_dir, own, assignments);
  const bool changes_epochs = std::ranges::any_of(changes, [](const auto& one) { return one.field == "epochs"; });
  if (job.epochs > 0 && changes_epochs) {
    return refusal(
        409,
        fmt::format("epochs: job {} trains to {} epochs, as its sweep decided; the sweep would not follow a change",
                    job.id, job.epochs));
  }
  const bool may_get_epochs = job.epochs > 0;  // from its sweep, at the end of a rung
  if (!changes.empty() && !may_get_epochs) runs::refuse_if_ended(files, job.run_dir, own, assignments);
  runs::refuse_begun_epochs(files, job.run_dir, changes);
  std::string path;
  if (!changes.empty()) {
    // The line comes first: a full disk or a kill then leaves no change without one.
    add_to_audit(store_.database(), asked_now(uid, "set", base::joined(assignments, " ")), job.id);
    try {
      path = history::publish_request(files, job.run_dir, history::settings_of(changes), kLockPatience).path;
    } catch (const base::Error& error) {
      add_to_audit(store_.database(), asked_now(uid, "set", fmt::format("not done: {}", error.what())), job.id);
      throw;
    }
  }
  return json_response({{"job", job.id},
                        {"run_dir", job.run_dir},
                        {"request", path.empty() ? nlohmann::json() : nlohmann::json(path)},
                        {"changes", base::to_json(changes)},
                        {"from", is_active(job.state) ? "end_of_epoch" : "resume"}});
}

}  // namespace esper::jobs
