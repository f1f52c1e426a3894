#include "jobs/api/audit_routes.h"

#include <fmt/core.h>

#include "jobs/api/responses.h"

namespace esper::jobs {
namespace {

constexpr std::int64_t kMostAuditLines = 10'000;

http::Response audit(JobStore& store, const http::Request& request) {
  std::int64_t after = 0, most = 1000;
  for (const auto& [name, value] : request.query) {
    const auto number = whole_number_in(value);
    if (name == "after" && number && *number >= 0) {
      after = *number;
    } else if (name == "limit" && number && *number >= 1 && *number <= kMostAuditLines) {
      most = *number;
    } else {
      return refusal(
          400, fmt::format("unknown parameter, or value: {}; known: after, limit (1 to {})", name, kMostAuditLines));
    }
  }
  return json_response({{"audit", base::to_json(store.audit(after, most))}});
}

}  // namespace

void add_audit_routes(Router& router, JobStore& store) {
  router.add("GET", "/v1/audit",
             [&store](const http::Request& request, std::int64_t) { return audit(store, request); });
}

}  // namespace esper::jobs
