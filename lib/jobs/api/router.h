#pragma once
// Which function answers which request. On the loop's thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace esper::jobs {

// id: the number in the place of "{id}"; 0 for a path without it.
using Handler = std::function<http::Response(const http::Request& request, std::int64_t id)>;

struct Route {
  std::string method;  // "GET"
  std::string path;    // "/v1/jobs/{id}/cancel"; "{id}" takes a whole number from 1 on
  Handler handler;
};

class Router {
 public:
  void add(std::string method, std::string path, Handler handler);
  // 404 for a path that has no route, 405 with Allow for one that has others.
  http::Response answer(const http::Request& request) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace esper::jobs
