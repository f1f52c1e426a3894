#include "jobs/api/router.h"

#include <optional>

#include "base/parse_number.h"
#include "jobs/api/responses.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kIdPlace = "{id}";

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  parts.push_back(path);
  return parts;
}

// The id where the path has the pattern's form; 0 for a pattern without one.
std::optional<std::int64_t> id_of_path(std::string_view pattern, std::string_view path) {
  const auto wanted = parts_of(pattern), parts = parts_of(path);
  if (wanted.size() != parts.size()) return std::nullopt;
  std::int64_t id = 0;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (wanted[at] == kIdPlace) {
      const auto number = base::parse_number<std::int64_t>(parts[at]);
      if (!number || *number < 1) return std::nullopt;
      id = *number;
    } else if (wanted[at] != parts[at]) {
      return std::nullopt;
    }
  }
  return id;
}

}  // namespace

void Router::add(std::string method, std::string path, Handler handler) {
  routes_.push_back({std::move(method), std::move(path), std::move(handler)});
}

http::Response Router::answer(const http::Request& request) const {
  std::string allowed;
  for (const Route& route : routes_) {
    const auto id = id_of_path(route.path, request.path);
    if (!id) continue;
    if (route.method == request.method) return route.handler(request, *id);
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (allowed.empty()) return refusal(404, "there is nothing at this path; docs/daemon.md lists the paths");
  auto response = refusal(405, "this path takes " + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

}  // namespace esper::jobs
