#include "jobs/api/job_routes.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <sstream>

#include "base/names.h"
#include "jobs/api/job_text.h"
#include "jobs/api/responses.h"
#include "jobs/api/submission_check.h"

namespace esper::jobs {
namespace {

using http::Request;
using http::Response;

struct PriorityChange {
  std::optional<std::int64_t> priority{};
};
constexpr auto json_members(const PriorityChange*) {
  return std::tuple{base::json_member("priority", &PriorityChange::priority)};
}

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

std::optional<std::int64_t> limit_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

base::Expected<JobFilter> filter_of(const Request& request) {
  JobFilter filter;
  for (const auto& [name, value] : request.query) {
    if (name == "state") {
      const auto states = states_in(value);
      if (!states) return base::failure("state: needs names of states: " + base::all_names<JobState>());
      filter.states = *states;
    } else if (name == "name") {
      filter.name = value;
    } else if (const auto number = limit_in(value); name == "limit" && number) {
      filter.most = *number;
    } else {
      return base::failure(fmt::format("unknown parameter, or value: {}; known: state, name, limit", name));
    }
  }
  return filter;
}

Response no_such(JobId id) { return refusal(404, fmt::format("there is no job {}", id)); }

Response changed_or_conflict(const base::Expected<Job>& job) {
  return job ? json_response(base::to_json(*job)) : refusal(409, job.error());
}

}  // namespace

void JobRoutes::add_to(Router& router) {
  router.add("GET", "/v1/jobs", [this](const Request& request, std::int64_t) { return list(request); });
  router.add("POST", "/v1/jobs", [this](const Request& request, std::int64_t) { return submit(request); });
  router.add("GET", "/v1/jobs/{id}", [this](const Request&, JobId id) { return show(id); });
  router.add("PATCH", "/v1/jobs/{id}", [this](const Request& request, JobId id) { return change(request, id); });
  router.add("GET", "/v1/jobs/{id}/config", [this](const Request&, JobId id) { return config(id); });
  for (const auto& [action, name] : names(Queue::Action{})) {
    router.add("POST", fmt::format("/v1/jobs/{{id}}/{}", name),
               [this, action = action](const Request& request, JobId id) { return act(request, id, action); });
  }
}

Response JobRoutes::submit(const Request& request) {
  const auto submission = body_of<Submission>(request);
  if (!submission) return refusal(400, submission.error());
  if (const std::string mistakes = mistakes_in(*submission); !mistakes.empty()) return refusal(400, mistakes);
  const auto made = queue_.submit(*submission, uid_of(request));
  return made ? json_response(base::to_json(*made), 201) : refusal(400, made.error());
}

Response JobRoutes::list(const Request& request) {
  const auto filter = filter_of(request);
  if (!filter) return refusal(400, filter.error());
  Response response{.body = "{\"jobs\":["};
  for (Job& job : store_.list(*filter)) {
    job.reason = queue_.waiting_reason(job);
    if (response.body.back() == '}') response.body += ',';
    append_json(response.body, job);
  }
  response.body += "]}\n";
  return response;
}

Response JobRoutes::show(JobId id) {
  auto job = store_.find(id);
  if (!job) return no_such(id);
  job->reason = queue_.waiting_reason(*job);
  return json_response(base::to_json(*job));
}

Response JobRoutes::config(JobId id) {
  if (!store_.find(id)) return no_such(id);
  return {.content_type = "application/yaml", .body = store_.config_of(id)};
}

Response JobRoutes::change(const Request& request, JobId id) {
  const auto change = body_of<PriorityChange>(request);
  if (!change) return refusal(400, change.error());
  if (!change->priority) return refusal(400, "nothing to change: give \"priority\"");
  if (!store_.find(id)) return no_such(id);
  return changed_or_conflict(queue_.set_priority(id, *change->priority, uid_of(request)));
}

Response JobRoutes::act(const Request& request, JobId id, Queue::Action action) {
  if (!store_.find(id)) return no_such(id);
  return changed_or_conflict(queue_.act(id, action, uid_of(request)));
}

}  // namespace esper::jobs
