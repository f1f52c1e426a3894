#include "jobs/api/api.h"

#include "jobs/api/audit_routes.h"
#include "jobs/api/page_routes.h"
#include "jobs/api/responses.h"

namespace esper::jobs {
namespace {

constexpr int kTryLater = 503, kNoRoom = 507;  // of HTTP

}  // namespace

Api::Api(Parts parts, DaemonFacts facts, Callbacks callbacks)
    : jobs_(parts.store, parts.queue),
      edits_(parts.store, parts.queue),
      sweeps_(parts.sweeps, parts.queue),
      progress_(parts.store, parts.progress, std::move(callbacks.stream_begins)),
      daemon_(parts.store, parts.queue, std::move(facts), std::move(callbacks.stop)) {
  jobs_.add_to(router_);
  edits_.add_to(router_);
  sweeps_.add_to(router_);
  progress_.add_to(router_);
  daemon_.add_to(router_);
  add_audit_routes(router_, parts.store);
  add_page_routes(router_);
}

// A request that could not be written changed nothing, and the client may send it again.
http::Response Api::answer(const http::Request& request) const {
  try {
    return router_.answer(request);
  } catch (const DatabaseError& error) {
    return refusal(error.out_of_space() ? kNoRoom : kTryLater, error.what());
  } catch (const base::ConfigError& error) {  // a stored sweep that this version does not take any more
    return refusal(409, error.what());
  }
}

}  // namespace esper::jobs
