#pragma once
// Reads a server's event stream. One thread.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/quantity.h"
#include "http/client_socket.h"
#include "http/event_text.h"
#include "http/message.h"

namespace esper::http {

// What one event may have at most.
inline constexpr std::size_t kMostEventBytes = 1u << 20;

class EventReader {
 public:
  // Waits for the response's header. Fails where the response is no event stream, with the server's reason.
  static base::Expected<EventReader> open(const Endpoint& endpoint, std::string_view target, base::Duration timeout);
  EventReader(EventReader&&) noexcept;
  EventReader& operator=(EventReader&&) noexcept;
  ~EventReader();

  // The next event; nothing where none came in time. Fails where the stream has ended.
  base::Expected<std::optional<Event>> next(base::Duration timeout);
  // The connection, for poll(2) beside other descriptors: where it is readable, or events are left that came with
  // earlier ones, next() has something to do.
  int descriptor() const;

 private:
  struct Stream;
  explicit EventReader(std::unique_ptr<Stream> stream);
  std::unique_ptr<Stream> stream_;
};

}  // namespace esper::http
