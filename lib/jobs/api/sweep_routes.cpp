#include "jobs/api/sweep_routes.h"

#include <fmt/core.h>

#include "base/clock.h"
#include "jobs/api/responses.h"
#include "jobs/api/submission_check.h"
#include "sweep/summary_json.h"

namespace esper::jobs {
namespace {

using http::Request;
using http::Response;

Response no_such_sweep(SweepId id) { return refusal(404, fmt::format("there is no sweep {}", id)); }

Asked asked_by(const Request& request, const std::string& what) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock().wall());
  return {.at_ms = now.count(), .uid = uid_of(request), .what = what};
}

}  // namespace

void SweepRoutes::add_to(Router& router) {
  router.add("GET", "/v1/sweeps", [this](const Request&, SweepId) { return list(); });
  router.add("POST", "/v1/sweeps", [this](const Request& request, SweepId) { return submit(request); });
  router.add("GET", "/v1/sweeps/{id}", [this](const Request&, SweepId id) { return show(id); });
  router.add("GET", "/v1/sweeps/{id}/best", [this](const Request&, SweepId id) { return best(id); });
  router.add("POST", "/v1/sweeps/{id}/cancel",
             [this](const Request& request, SweepId id) { return act(request, id, &Sweeps::cancel, "cancel sweep"); });
  router.add("POST", "/v1/sweeps/{id}/resume",
             [this](const Request& request, SweepId id) { return act(request, id, &Sweeps::resume, "resume sweep"); });
}

Response SweepRoutes::submit(const Request& request) {
  const auto submission = body_of<SweepSubmission>(request);
  if (!submission) return refusal(400, submission.error());
  if (const std::string mistakes = mistakes_in(*submission); !mistakes.empty()) return refusal(400, mistakes);
  const auto made = sweeps_.submit(*submission, asked_by(request, "submit sweep"));
  queue_.schedule();
  return json_response(base::to_json(made), 201);
}

Response SweepRoutes::list() { return json_response({{"sweeps", base::to_json(sweeps_.list())}}); }

Response SweepRoutes::show(SweepId id) {
  if (!sweeps_.find(id)) return no_such_sweep(id);
  return json_response(base::to_json(sweeps_.report(id)));
}

Response SweepRoutes::best(SweepId id) {
  if (!sweeps_.find(id)) return no_such_sweep(id);
  const auto best = sweeps_.best(id);
  return best ? json_response(base::to_json(*best)) : refusal(409, best.error());
}

Response SweepRoutes::act(const Request& request, SweepId id, Action action, const std::string& what) {
  if (!sweeps_.find(id)) return no_such_sweep(id);
  const auto sweep = (sweeps_.*action)(id, asked_by(request, what));
  if (!sweep) return refusal(409, sweep.error());
  queue_.schedule();
  return json_response(base::to_json(*sweep));
}

}  // namespace esper::jobs
