#pragma once
// Server-sent events as text (WHATWG HTML, section 9.2), both ways. Any thread.

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "http/message.h"

namespace esper::http {

// With the blank line at the end. Line ends of the data ("\r\n", "\r") arrive as "\n". ESPER_CHECK: the name has no
// control characters.
std::string event_text(const Event& event);

// A comment, which readers skip.
inline constexpr std::string_view kHeartbeat = ": alive\n\n";

// Takes a stream in pieces of any size and gives its events. Fields other than id, event and data are skipped, an event
// without data as well.
class EventParser {
 public:
  explicit EventParser(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Fails where one event has more than `most_bytes`; the parser is of no use after that.
  base::Expected<void> add(std::string_view piece);
  // The oldest complete event.
  std::optional<Event> next();

 private:
  void take_line(std::string_view line);
  void take_field(std::string_view name, std::string_view value);

  std::size_t most_bytes_;
  std::string line_;  // what has arrived of the current line
  bool after_return_ = false;
  bool has_data_ = false;
  Event event_;
  std::deque<Event> complete_;
};

}  // namespace esper::http
