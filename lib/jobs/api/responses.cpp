#include "jobs/api/responses.h"

#include <fmt/core.h>
#include <unistd.h>

#include <charconv>

namespace esper::jobs {

http::Response json_response(const nlohmann::json& document, int status) {
  return {.status = status, .body = base::json_line(document) + "\n"};
}

http::Response refusal(int status, const std::string& reason) { return json_response({{"error", reason}}, status); }

http::Response no_such_job(JobId id) { return refusal(404, fmt::format("there is no job {}", id)); }

std::optional<std::int64_t> whole_number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

std::int64_t uid_of(const http::Request& request) {
  return static_cast<std::int64_t>(request.peer.is_local ? request.peer.uid : ::getuid());
}

}  // namespace esper::jobs
