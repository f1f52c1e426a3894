#pragma once
// What a server's connections share: the handler, the limits, who is connected. On the loop's thread. Only for this
// room's .cpp files: it includes Boost.

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "http/listening_socket.h"
#include "http/server.h"

namespace esper::http {

class Connection;
class Listener;

using Socket = boost::asio::generic::stream_protocol::socket;

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
  // Asks the handler; what it throws becomes a response.
  Response answer(const Request& request);
  bool has_room_for_stream(bool is_local) const;
  void stream_began();
  void stream_ended();
  void connection_ended(const std::shared_ptr<Connection>& connection);
  void publish(const Event& event);
  void close();

  boost::asio::io_context& loop() { return loop_; }
  const ServerOptions& options() const { return options_; }
  ServerCounts& counts() { return counts_; }

 private:
  bool make_room(bool is_local);
  void send_to_streams(const std::string& text);
  void end_turn_later();
  void schedule_heartbeat();

  boost::asio::io_context& loop_;
  Handler handler_;
  ServerOptions options_;
  ServerCounts counts_;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<SocketFile> socket_files_;
  std::set<std::shared_ptr<Connection>> connections_;
  boost::asio::steady_timer heartbeat_;
  std::uint64_t turn_ = 1;  // of the loop, as far as events are published in it
  bool is_turn_over_later_ = false;
  bool is_closed_ = false;
};

}  // namespace esper::http
