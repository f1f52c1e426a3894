#include "http/event_streams.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "http/event_text.h"

namespace esper::http {

bool EventStreams::has_room(const Peer& peer) const {
  const auto is_one = [&](const auto& stream) { return stream.second == peer.is_local; };
  return static_cast<std::size_t>(std::ranges::count_if(streams_, is_one)) < limits_.streams;
}

void EventStreams::begin(Socket socket, const Peer& peer, std::string head) {
  const auto stream = std::make_shared<EventStream>(loop_, std::move(socket), limits_,
                                                    [self = weak_from_this()](const std::shared_ptr<EventStream>& one) {
                                                      if (const auto streams = self.lock()) streams->ended(one);
                                                    });
  streams_.emplace(stream, peer.is_local);
  if (streams_.size() == 1) schedule_heartbeat();
  stream->begin(std::move(head));
}

void EventStreams::ended(const std::shared_ptr<EventStream>& stream) {
  streams_.erase(stream);
  if (streams_.empty()) heartbeat_.cancel();
}

void EventStreams::publish(const Event& event) {
  if (!streams_.empty()) send(event_text(event));
}

void EventStreams::send(const std::string& text) {
  end_turn_later();
  const auto streams = streams_;  // one that is dropped leaves the map
  for (const auto& [stream, is_local] : streams)
    if (!stream->send(text, turn_)) ++dropped_;
}

// After the handlers that are to run now, among them those of writes that went through.
void EventStreams::end_turn_later() {
  if (std::exchange(is_turn_over_later_, true)) return;
  boost::asio::post(loop_, [self = weak_from_this()] {
    const auto streams = self.lock();
    if (!streams) return;
    streams->is_turn_over_later_ = false;
    ++streams->turn_;
  });
}

void EventStreams::schedule_heartbeat() {
  heartbeat_.expires_after(limits_.heartbeat);
  heartbeat_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto streams = self.lock();
    if (error || !streams || streams->streams_.empty()) return;
    streams->send(std::string(kHeartbeat));
    if (!streams->streams_.empty()) streams->schedule_heartbeat();
  });
}

void EventStreams::close() {
  while (!streams_.empty()) streams_.begin()->first->close();
}

}  // namespace esper::http
