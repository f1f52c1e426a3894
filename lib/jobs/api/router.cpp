#include "jobs/api/router.h"

#include <charconv>
#include <optional>

#include "jobs/api/responses.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kIdPlace = "{id}";

std::optional<std::int64_t> id_in(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

std::string_view take_part(std::string_view& path) {
  const auto slash = path.find('/');
  const auto part = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return part;
}

// The id where the path has the pattern's form; 0 for a pattern without one.
std::optional<std::int64_t> id_of_path(std::string_view pattern, std::string_view path) {
  std::int64_t id = 0;
  while (!pattern.empty() && !path.empty()) {
    const auto wanted = take_part(pattern), part = take_part(path);
    if (wanted == kIdPlace) {
      const auto number = id_in(part);
      if (!number) return std::nullopt;
      id = *number;
    } else if (wanted != part) {
      return std::nullopt;
    }
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
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
  if (allowed.empty()) return refusal(404, "there is nothing at this path; docs/daemon.md lists what there is");
  auto response = refusal(405, "this path takes " + allowed);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

}  // namespace esper::jobs
