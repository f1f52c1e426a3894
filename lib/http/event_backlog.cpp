#include "http/event_backlog.h"

#include <utility>

namespace esper::http {

bool EventBacklog::add(std::string_view text, std::uint64_t turn) {
  if (std::exchange(turn_, turn) != turn) left_by_turn_before_ = waiting_.size();
  if (left_by_turn_before_ > most_left_ || waiting_.size() + text.size() > most_waiting_) return false;
  waiting_ += text;
  return true;
}

std::string EventBacklog::take() { return std::exchange(waiting_, {}); }

}  // namespace esper::http
