#pragma once
// The event streams of one server: how many there may be, what is published to them, and comments now and then, so that
// both sides see that the other is there. On the loop's thread; for this room's .cpp files.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "http/event_stream.h"
#include "http/limits.h"
#include "http/message.h"
#include "http/server_socket.h"

namespace esper::http {

class EventStreams : public std::enable_shared_from_this<EventStreams> {
 public:
  EventStreams(boost::asio::io_context& loop, const Limits& limits) : loop_(loop), limits_(limits), heartbeat_(loop) {}

  // For one more of those that came in the same way: locally, or not.
  bool has_room(const Peer& peer) const;
  // With the response's head.
  void begin(Socket socket, const Peer& peer, std::string head);
  void publish(const Event& event);
  void close();
  std::size_t count() const { return streams_.size(); }
  // How many were ended because their clients did not read.
  std::size_t dropped() const { return dropped_; }

 private:
  void send(const std::string& text);
  void end_turn_later();
  void schedule_heartbeat();
  void ended(const std::shared_ptr<EventStream>& stream);

  boost::asio::io_context& loop_;
  const Limits limits_;
  std::map<std::shared_ptr<EventStream>, bool> streams_;  // whether each is local
  std::size_t dropped_ = 0;
  boost::asio::steady_timer heartbeat_;  // while there are streams
  std::uint64_t turn_ = 1;               // of the loop, as far as events are published in it
  bool is_turn_over_later_ = false;
};

}  // namespace esper::http
