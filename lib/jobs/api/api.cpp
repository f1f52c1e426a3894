#include "jobs/api/api.h"

#include <fmt/core.h>

#include "jobs/api/audit_routes.h"
#include "jobs/api/page_routes.h"
#include "jobs/api/responses.h"

namespace esper::jobs {
namespace {

constexpr int kTryLater = 503, kNoRoom = 507;  // of HTTP

}  // namespace

Api::Api(Parts parts, DaemonFacts facts, Callbacks callbacks)
    : database_(facts.state_dir + "/jobs.db"),
      jobs_(parts.store, parts.queue),
      edits_(parts.store, parts.queue),
      sweeps_(parts.store, parts.sweeps, parts.queue),
      progress_(parts.store, parts.progress, std::move(callbacks.stream_begins)),
      daemon_(parts.store, parts.queue, std::move(facts), std::move(callbacks.daemon)) {
  jobs_.add_to(router_);
  edits_.add_to(router_);
  sweeps_.add_to(router_);
  progress_.add_to(router_);
  daemon_.add_to(router_);
  add_audit_routes(router_, parts.store);
  add_page_routes(router_);
}

http::Response Api::answer(const http::Request& request) const {
  return answer_of([&] { return router_.answer(request); });
}

// A request that could not be written changed nothing, and the client may send it again.
http::Response Api::answer_of(const std::function<http::Response()>& part) const {
  try {
    auto response = part();
    if (response.later) response.later = [this, later = std::move(response.later)] { return answer_of(later); };
    return response;
  } catch (const DatabaseError& error) {
    return refusal_of(error);
  } catch (const base::ConfigError& error) {  // a stored sweep that this version does not take any more
    return refusal(409, error.what());
  }
}

http::Response Api::refusal_of(const DatabaseError& error) const {
  if (error.out_of_space()) return refusal(kNoRoom, error.what());
  if (error.is_busy()) return refusal(kTryLater, error.what());
  return refusal(kTryLater,
                 fmt::format("the job database {} cannot be used: {}. Runs and their checkpoints are not in it. If it "
                             "is damaged, docs/daemon.md says under \"Recovery by hand\" how to save what can be read",
                             database_, error.what()));
}

}  // namespace esper::jobs
