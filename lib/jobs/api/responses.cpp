#include "jobs/api/responses.h"

#include <unistd.h>

namespace esper::jobs {

http::Response json_response(const nlohmann::json& document, int status) {
  return {.status = status, .body = base::json_line(document) + "\n"};
}

http::Response refusal(int status, const std::string& reason) { return json_response({{"error", reason}}, status); }

std::int64_t uid_of(const http::Request& request) {
  return static_cast<std::int64_t>(request.peer.is_local ? request.peer.uid : ::getuid());
}

}  // namespace esper::jobs
