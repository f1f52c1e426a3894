#include "http/service.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <ranges>
#include <utility>

#include "http/connection.h"
#include "http/listener.h"
#include "http/response_text.h"

namespace esper::http {
namespace {

// False where none was idle for this time.
bool close_longest_idle(auto& connections, base::Duration least_time) {
  const auto since = [](const std::shared_ptr<Connection>& one) { return one->evictable_since(); };
  const auto longest = std::ranges::min_element(connections, {}, since);
  if (longest == connections.end()) return false;
  if (since(*longest) > std::chrono::steady_clock::now() - least_time) return false;
  (*longest)->close();
  return true;
}

}  // namespace

Service::Service(boost::asio::io_context& loop, Handler handler, ServerOptions options)
    : loop_(loop),
      handler_(std::move(handler)),
      options_(std::move(options)),
      streams_(std::make_shared<EventStreams>(loop, options_.limits)) {}

void Service::listen(base::Descriptor listening, std::shared_ptr<const std::string> token) {
  listeners_.push_back(std::make_shared<Listener>(weak_from_this(), loop_, std::move(listening), std::move(token)));
  listeners_.back()->start();
}

// Of those that came in the same way: one gives way, where all are in use.
bool Service::make_room(bool is_local) {
  auto alike = connections_ | std::views::filter([&](const auto& one) { return one->is_local() == is_local; });
  if (static_cast<std::size_t>(std::ranges::distance(alike)) < options_.limits.connections) return true;
  return close_longest_idle(alike, options_.limits.evictable_after);
}

bool Service::free_descriptor() { return close_longest_idle(connections_, options_.limits.evictable_after); }

void Service::adopt(base::Descriptor descriptor, Entrance entrance) {
  if (is_closed_) return;
  if (!make_room(entrance.peer.is_local)) {
    ++counts_.refused_full;
    const auto response = error_response(503, "too many connections");
    const std::string text = response_head(response, AfterResponse::kClose) + response.body;
    // An empty send buffer takes it whole; who is gone already misses nothing.
    (void)!send(descriptor.number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    return;
  }
  ++counts_.accepted;
  boost::system::error_code error;
  Socket socket(loop_);
  const int family = entrance.token ? AF_INET : AF_UNIX;
  socket.assign(boost::asio::generic::stream_protocol(family, 0), descriptor.number(), error);
  if (error) return;
  (void)descriptor.release();
  auto connection = std::make_shared<Connection>(shared_from_this(), std::move(socket), std::move(entrance));
  connections_.insert(connection);
  connection->start();
}

Response Service::answer(const Request& request) {
  return go_on([&] { return handler_(request); });
}

Response Service::go_on(const std::function<Response()>& later) {
  try {
    return later();
  } catch (const std::exception& error) {
    return error_response(500, error.what());
  } catch (...) {
    return error_response(500, "an exception of an unknown type");
  }
}

void Service::connection_ended(const std::shared_ptr<Connection>& connection) { connections_.erase(connection); }

ServerCounts Service::counts() const {
  ServerCounts counts = counts_;
  counts.streams = streams_->count();
  counts.open = connections_.size() + counts.streams;
  counts.dropped_streams = streams_->dropped();
  return counts;
}

void Service::close() {
  if (std::exchange(is_closed_, true)) return;
  for (const auto& file : socket_files_) file.remove();
  for (const auto& listener : listeners_) listener->close();
  listeners_.clear();
  while (!connections_.empty()) (*connections_.begin())->close();
  streams_->close();
}

}  // namespace esper::http
