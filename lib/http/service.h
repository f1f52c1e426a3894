#pragma once
// What a server's connections share: the handler, the limits, the counts, who is connected. On the loop's thread. Only
// for this room's .cpp files: it includes Boost.

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "http/event_streams.h"
#include "http/listening_socket.h"
#include "http/server.h"

namespace esper::http {

class Connection;
class Listener;

// How a client came in.
struct Entrance {
  Peer peer;
  std::shared_ptr<const std::string> token;  // null: none is needed
};

class Service : public std::enable_shared_from_this<Service> {
 public:
  Service(boost::asio::io_context& loop, Handler handler, ServerOptions options);

  void listen(base::Descriptor listening, std::shared_ptr<const std::string> token);
  void add_socket_file(SocketFile file) { socket_files_.push_back(std::move(file)); }
  // Takes the connection, or refuses it with 503 where there are too many.
  void adopt(base::Descriptor descriptor, Entrance entrance);
  // Closes the connection that has been idle for longest, so that its descriptor is free. False where none was idle for
  // long enough.
  bool free_descriptor();
  // Asks the handler; what it throws becomes a response.
  Response answer(const Request& request);
  // The same of the next part of an answer (Response::later).
  Response go_on(const std::function<Response()>& later);
  void connection_ended(const std::shared_ptr<Connection>& connection);
  void close();

  boost::asio::io_context& loop() { return loop_; }
  const ServerOptions& options() const { return options_; }
  EventStreams& streams() { return *streams_; }
  // One more of what the server counts since it began.
  void count(std::size_t ServerCounts::* what) { ++(counts_.*what); }
  ServerCounts counts() const;

 private:
  bool make_room(bool is_local);

  boost::asio::io_context& loop_;
  Handler handler_;
  ServerOptions options_;
  ServerCounts counts_;  // but for what is open now, and the streams
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<SocketFile> socket_files_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::shared_ptr<EventStreams> streams_;
  bool is_closed_ = false;
};

}  // namespace esper::http
