#pragma once
// Events that one client is to get and that are not being written yet. Any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/limits.h"

namespace esper::http {

class EventBacklog {
 public:
  explicit EventBacklog(const Limits& limits)
      : most_left_(limits.waiting_event_bytes), most_waiting_(limits.burst_event_bytes) {}

  // False, and nothing is added: the client does not read, for the limits are passed. `turn`: another number in each
  // turn of the loop.
  bool add(std::string_view text, std::uint64_t turn);
  bool is_empty() const { return waiting_.empty(); }
  // All of it, to be written.
  std::string take();

 private:
  std::size_t most_left_, most_waiting_;  // bytes
  std::string waiting_;
  std::uint64_t turn_ = 0;
  std::size_t left_by_turn_before_ = 0;  // bytes that were waiting when the turn began
};

}  // namespace esper::http
