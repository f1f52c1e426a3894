#pragma once
// Responses of the daemon's interface, and what its requests have in common. Any thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/expected.h"
#include "base/text/json_struct.h"
#include "http/message.h"

namespace esper::jobs {

inline constexpr std::size_t kMostRequestBytes = 8u << 20;

http::Response json_response(const nlohmann::json& document, int status = 200);
// {"error": reason}
http::Response refusal(int status, const std::string& reason);

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
