#include "jobs/api/responses.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/parse_number.h"

namespace esper::jobs {

http::Response json_response(const nlohmann::json& document, int status) {
  return {.status = status, .body = base::json_line(document) + "\n"};
}

http::Response refusal(int status, const std::string& reason) { return json_response({{"error", reason}}, status); }

http::Response no_such_job(JobId id) { return refusal(404, fmt::format("there is no job {}", id)); }

base::Expected<std::int64_t> query_number(std::string_view name, std::string_view value, std::int64_t least,
                                          std::int64_t most) {
  const auto number = base::parse_number<std::int64_t>(value);
  if (number && *number >= least && *number <= most) return *number;
  const std::string range = most == kAnyNumber ? fmt::format("{} on", least) : fmt::format("{} to {}", least, most);
  return base::failure(fmt::format("{}: needs a whole number from {}", name, range));
}

std::string unknown_parameter(std::string_view name, std::string_view known) {
  return fmt::format("unknown parameter: {}; known: {}", name, known);
}

std::int64_t uid_of(const http::Request& request) {
  return static_cast<std::int64_t>(request.peer.is_local ? request.peer.uid : ::getuid());
}

}  // namespace esper::jobs
