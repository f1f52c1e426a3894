#include "jobs/api/daemon_routes.h"

#include <fmt/core.h>
#include <unistd.h>

#include "jobs/api/responses.h"

namespace esper::jobs {

void DaemonRoutes::add_to(Router& router) {
  using http::Request;
  router.add("GET", "/v1/daemon", [this](const Request&, std::int64_t) { return status(); });
  router.add("POST", "/v1/daemon/drain", [this](const Request& request, std::int64_t) {
    add_to_audit(store_.database(), asked_now(uid_of(request), "drain"), std::nullopt);
    queue_.drain();
    callbacks_.drained();
    return status();
  });
  router.add("POST", "/v1/daemon/stop", [this](const Request& request, std::int64_t) {
    add_to_audit(store_.database(), asked_now(uid_of(request), "stop"), std::nullopt);
    callbacks_.stop();
    return status();
  });
}

http::Response DaemonRoutes::status() const {
  nlohmann::json counts;
  for (const auto& [state, name] : names(JobState{})) counts[std::string(name)] = store_.count(state);
  nlohmann::json answer{{"pid", ::getpid()},
                        {"version", facts_.version},
                        {"state_dir", facts_.state_dir},
                        {"draining", queue_.is_draining()},
                        {"jobs", counts}};
  if (facts_.loopback) {
    answer["page"] = {{"url", fmt::format("http://127.0.0.1:{}/", facts_.loopback->port)},
                      {"token_file", facts_.loopback->token_file}};
  }
  return json_response(answer);
}

}  // namespace esper::jobs
