#include "jobs/api/audit_routes.h"

#include "jobs/api/responses.h"

namespace esper::jobs {
namespace {

constexpr std::int64_t kMostAuditLines = 10'000;

http::Response audit(JobStore& store, const http::Request& request) {
  std::optional<std::int64_t> after;
  std::int64_t most = 1000;
  for (const auto& [name, value] : request.query) {
    const bool is_after = name == "after";
    if (!is_after && name != "limit") return refusal(400, unknown_parameter(name, "after, limit"));
    const auto number = is_after ? query_number(name, value, 0) : query_number(name, value, 1, kMostAuditLines);
    if (!number) return refusal(400, number.error());
    if (is_after) {
      after = *number;
    } else {
      most = *number;
    }
  }
  return json_response({{"audit", base::to_json(read_audit(store.database(), after, most))}});
}

}  // namespace

void add_audit_routes(Router& router, JobStore& store) {
  router.add("GET", "/v1/audit",
             [&store](const http::Request& request, std::int64_t) { return audit(store, request); });
}

}  // namespace esper::jobs
