#pragma once
// Responses of the daemon's interface, and what its requests have in common. Any thread.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/text/json_struct.h"
#include "http/message.h"
#include "jobs/job/job.h"

namespace esper::jobs {

inline constexpr std::size_t kMostRequestBytes = 8u << 20;

http::Response json_response(const nlohmann::json& document, int status = 200);
// {"error": reason}
http::Response refusal(int status, const std::string& reason);
// 404
http::Response no_such_job(JobId id);

inline constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();
// The value of a query parameter that is a whole number. Fails with the parameter's name and its range.
base::Expected<std::int64_t> query_number(std::string_view name, std::string_view value, std::int64_t least,
                                          std::int64_t most = kAnyNumber);
// The reason to refuse a query parameter that the path does not have. `known`: those that it has.
std::string unknown_parameter(std::string_view name, std::string_view known);

// Who asks, for the audit log: over TCP, where the kernel does not say, this process's own user, who has the token.
std::int64_t uid_of(const http::Request& request);

// The request's body as a struct with json_members().
template <class Body>
base::Expected<Body> body_of(const http::Request& request) {
  const auto document = base::parse_json(request.body, kMostRequestBytes);
  if (!document) return base::failure(document.error());
  return base::from_json<Body>(*document);
}

}  // namespace esper::jobs
