#include "jobs/api/job_routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/names.h"
#include "jobs/api/job_text.h"
#include "jobs/api/responses.h"
#include "jobs/api/submission_check.h"

namespace esper::jobs {
namespace {

using http::Request;
using http::Response;

// "queued,running"; nothing: one of them is no state.
std::optional<std::vector<JobState>> states_in(const std::string& text) {
  std::vector<JobState> states;
  std::istringstream names(text);
  for (std::string name; std::getline(names, name, ',');) {
    const auto state = base::from_name<JobState>(name);
    if (!state) return std::nullopt;
    states.push_back(*state);
  }
  return states;
}

constexpr std::int64_t kMostListed = 100'000;
// Clients take 64 MiB (http/client.h).
constexpr std::size_t kMostListBytes = 32u << 20;

base::Expected<JobFilter> filter_of(const Request& request) {
  JobFilter filter;
  for (const auto& [name, value] : request.query) {
    if (name == "state") {
      const auto states = states_in(value);
      if (!states) return base::failure("state: needs names of states: " + base::all_names<JobState>());
      filter.states = *states;
    } else if (name == "name") {
      filter.name = value;
    } else if (name == "order") {
      const auto order = base::from_name<JobOrder>(value);
      if (!order) return base::failure("order: needs one of " + base::all_names<JobOrder>());
      filter.order = *order;
    } else if (name == "limit" || name == "sweep") {
      const bool is_limit = name == "limit";
      const auto number = query_number(name, value, 1, is_limit ? kMostListed : kAnyNumber);
      if (!number) return base::failure(number.error());
      (is_limit ? filter.most : filter.sweep) = *number;
    } else {
      return base::failure(unknown_parameter(name, "state, name, sweep, order, limit"));
    }
  }
  return filter;
}

Response changed_or_conflict(const base::Expected<Job>& job) {
  return job ? json_response(base::to_json(*job)) : refusal(409, job.error());
}

}  // namespace

void JobRoutes::add_to(Router& router) {
  router.add("GET", "/v1/jobs", [this](const Request& request, std::int64_t) { return list(request); });
  router.add("POST", "/v1/jobs", [this](const Request& request, std::int64_t) { return submit(request); });
  router.add("GET", "/v1/jobs/{id}", [this](const Request&, JobId id) { return show(id); });
  router.add("GET", "/v1/jobs/{id}/config", [this](const Request&, JobId id) { return config(id); });
  for (const auto& [action, name] : names(JobAction{})) {
    router.add("POST", fmt::format("/v1/jobs/{{id}}/{}", name),
               [this, action = action](const Request& request, JobId id) { return act(request, id, action); });
  }
}

Response JobRoutes::submit(const Request& request) {
  const auto submission = body_of<Submission>(request);
  if (!submission) return refusal(400, submission.error());
  // One that is repeated is answered with what it made, also where its folder has gone since.
  const auto folder = store_.knows(*submission) ? FolderCheck::kPathAlone : FolderCheck::kExists;
  if (const std::string mistakes = mistakes_in(*submission, folder); !mistakes.empty()) return refusal(400, mistakes);
  const auto jobs = queue_.submit(*submission, uid_of(request));
  if (!jobs) return refusal(400, jobs.error());
  if (submission->seeds.empty()) return json_response(base::to_json(jobs->front()), 201);
  return json_response({{"jobs", base::to_json(*jobs)}}, 201);
}

Response JobRoutes::list(const Request& request) {
  auto filter = filter_of(request);
  if (!filter) return refusal(400, filter.error());
  const auto most = static_cast<std::size_t>(filter->most);
  ++filter->most;  // shows whether there are more
  filter->parts = JobParts::kWithoutForecast;
  auto jobs = store_.list(*filter);
  const bool is_newest_last = filter->order == JobOrder::kNewest;
  if (is_newest_last) std::ranges::reverse(jobs);  // what does not fit are the oldest
  UnfinishedJobs unfinished(store_.database());
  std::vector<std::string> texts;
  std::size_t bytes = 0;
  for (Job& job : jobs) {
    if (texts.size() == most) break;
    job.reason = queue_.waiting_reason(job, unfinished);
    std::string text;
    append_listed_json(text, job);
    bytes += text.size() + 1;
    if (bytes > kMostListBytes) break;
    texts.push_back(std::move(text));
  }
  if (is_newest_last) std::ranges::reverse(texts);
  Response response{.body = "{\"jobs\":["};
  for (const std::string& text : texts) {
    if (response.body.back() == '}') response.body += ',';
    response.body += text;
  }
  response.body += fmt::format("],\"more\":{}}}\n", texts.size() < jobs.size());
  return response;
}

Response JobRoutes::show(JobId id) {
  auto job = store_.find(id);
  if (!job) return no_such_job(id);
  job->reason = queue_.waiting_reason(*job);
  return json_response(base::to_json(*job));
}

Response JobRoutes::config(JobId id) {
  const auto job = store_.find(id);
  if (!job) return no_such_job(id);
  return {.content_type = "application/yaml", .body = queue_.forecasts().run_file_of(*job)};
}

Response JobRoutes::act(const Request& request, JobId id, JobAction action) {
  if (!store_.find(id)) return no_such_job(id);
  return changed_or_conflict(queue_.act(id, action, uid_of(request)));
}

}  // namespace esper::jobs
