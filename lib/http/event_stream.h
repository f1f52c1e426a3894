#pragma once
// One client's event stream. On the loop's thread; for this room's .cpp files.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "http/event_backlog.h"
#include "http/limits.h"
#include "http/server_socket.h"
#include "http/timeout.h"

namespace esper::http {

class EventStream : public std::enable_shared_from_this<EventStream> {
 public:
  using Ended = std::function<void(const std::shared_ptr<EventStream>&)>;

  // `ended` is called once: the client closed, or did not read, or close() was called.
  EventStream(boost::asio::io_context& loop, Socket socket, const Limits& limits, Ended ended);
  // With the response's head.
  void begin(std::string head);
  // False: the client does not read, and the stream has ended. `turn`: as EventBacklog::add().
  bool send(const std::string& text, std::uint64_t turn);
  void close();

 private:
  void write(std::string text);

  Socket socket_;
  const base::Duration write_limit_;
  const Ended ended_;
  Timeout deadline_;  // none where nothing is being written
  EventBacklog backlog_;
  std::string output_;  // being written
  std::array<char, 4096> discarded_{};
  bool is_open_ = true;
};

}  // namespace esper::http
