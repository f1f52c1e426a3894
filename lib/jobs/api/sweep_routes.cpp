#include "jobs/api/sweep_routes.h"

#include <fmt/core.h>

#include <utility>

#include "jobs/api/responses.h"
#include "jobs/api/submission_check.h"
#include "jobs/queue/trials_check.h"

namespace esper::jobs {
namespace {

using http::Request;
using http::Response;

constexpr std::int64_t kMostSweepsListed = 1000;  // where nobody asks for more

Response no_such_sweep(SweepId id) { return refusal(404, fmt::format("there is no sweep {}", id)); }

}  // namespace

struct SweepRoutes::Admission {
  Admission(SweepSubmission submitted, std::int64_t asked_by, const Observer& observer)
      : submission(std::move(submitted)), uid(asked_by), check(submission, observer) {}

  const SweepSubmission submission;
  const std::int64_t uid;
  TrialsCheck check;
};

void SweepRoutes::add_to(Router& router) {
  router.add("GET", "/v1/sweeps", [this](const Request& request, SweepId) { return list(request); });
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
  // One that is repeated is answered with what it made, whatever has become of its folder since.
  if (!submission->token.empty()) {
    if (const auto made = store_.find_token(submission->token)) return json_response(base::to_json(*made), 201);
  }
  if (const std::string mistakes = mistakes_in(*submission); !mistakes.empty()) return refusal(400, mistakes);
  return check_on(std::make_shared<Admission>(*submission, uid_of(request), queue_.forecasts().observer()));
}

Response SweepRoutes::check_on(const std::shared_ptr<Admission>& admission) {
  if (!admission->check.is_done()) admission->check.advance();
  if (admission->check.is_done()) return store(*admission);
  return {.later = [this, admission] { return check_on(admission); }};
}

Response SweepRoutes::store(const Admission& admission) {
  const auto not_forecast = admission.check.result();
  if (!not_forecast) return refusal(400, not_forecast.error());
  auto made = sweeps_.submit(admission.submission, asked_now(admission.uid, "submit sweep"));
  if (*not_forecast > 0) made.not_forecast = *not_forecast;
  queue_.schedule();
  return json_response(base::to_json(made), 201);
}

Response SweepRoutes::list(const Request& request) {
  std::int64_t most = kMostSweepsListed;
  for (const auto& [name, value] : request.query) {
    if (name != "limit") return refusal(400, unknown_parameter(name, "limit"));
    const auto number = query_number(name, value, 1, 10'000);
    if (!number) return refusal(400, number.error());
    most = *number;
  }
  return json_response({{"sweeps", base::to_json(store_.list(most))}});
}

Response SweepRoutes::show(SweepId id) {
  if (!store_.find(id)) return no_such_sweep(id);
  return json_response(base::to_json(sweeps_.stored().report(id)));
}

Response SweepRoutes::best(SweepId id) {
  if (!store_.find(id)) return no_such_sweep(id);
  const auto best = sweeps_.stored().best(id);
  return best ? json_response(base::to_json(*best)) : refusal(409, best.error());
}

Response SweepRoutes::act(const Request& request, SweepId id, Action action, const std::string& what) {
  if (!store_.find(id)) return no_such_sweep(id);
  const auto sweep = (sweeps_.*action)(id, asked_now(uid_of(request), what));
  if (!sweep) return refusal(409, sweep.error());
  queue_.schedule();
  return json_response(base::to_json(*sweep));
}

}  // namespace esper::jobs
