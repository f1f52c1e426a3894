#include "jobs/api/progress_routes.h"

#include "jobs/api/responses.h"

namespace esper::jobs {

void ProgressRoutes::add_to(Router& router) {
  using http::Request;
  router.add("GET", "/v1/jobs/{id}/progress", [this](const Request&, JobId id) { return progress(id); });
  router.add("GET", "/v1/events", [this](const Request&, std::int64_t) {
    stream_begins_();
    return http::Response{.is_event_stream = true};
  });
}

http::Response ProgressRoutes::progress(JobId id) {
  const auto job = store_.find(id);
  if (!job) return no_such_job(id);
  return json_response(base::to_json(reader_.look(*job).progress));
}

}  // namespace esper::jobs
