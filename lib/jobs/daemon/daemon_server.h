#pragma once
// Where clients connect to the daemon, and the events that it sends to those who listen. Each event's id is one more
// than that of the event before, also where nobody listened to that one. On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/text/json_struct.h"
#include "http/server.h"
#include "jobs/api/daemon_routes.h"

namespace esper::jobs {

class DaemonServer {
 public:
  DaemonServer(boost::asio::io_context& loop, http::Handler handler) : server_(loop, std::move(handler)) {}

  // On a unix-domain socket, and on loopback TCP if that is given. Throws base::Error{kResources} where it cannot, and
  // as token_of() does.
  void listen(const std::string& socket, const std::optional<LoopbackFacts>& loopback);
  http::ServerCounts counts() const { return server_.counts(); }

  // Whether anyone listens to events.
  bool has_listeners() const { return counts().streams > 0; }
  // Thousands of jobs may change at once: data_of, which returns the event's data as JSON, is called only where someone
  // listens.
  template <class DataOf>
  void publish(const std::string& name, DataOf data_of) {
    ++events_;
    if (has_listeners()) server_.publish({.id = events_, .name = name, .data = base::json_line(data_of())});
  }

 private:
  http::Server server_;
  std::int64_t events_ = 0;
};

}  // namespace esper::jobs
