#include "http/event_stream.h"

#include <boost/asio/write.hpp>
#include <utility>

namespace esper::http {

EventStream::EventStream(boost::asio::io_context& loop, Socket socket, const Limits& limits, Ended ended)
    : socket_(std::move(socket)),
      write_limit_(limits.write),
      ended_(std::move(ended)),
      deadline_(loop),
      backlog_(limits) {}

// Nothing that the client sends has a meaning any more.
void EventStream::begin(std::string head) {
  write(std::move(head));
  discard_input(socket_, boost::asio::buffer(discarded_), [self = shared_from_this()] { self->close(); });
}

bool EventStream::send(const std::string& text, std::uint64_t turn) {
  if (!is_open_) return true;
  if (!backlog_.add(text, turn)) {
    close();
    return false;
  }
  if (output_.empty()) write(backlog_.take());
  return true;
}

void EventStream::write(std::string text) {
  output_ = std::move(text);
  deadline_.set(write_limit_, [self = shared_from_this()] { self->close(); });
  boost::asio::async_write(socket_, boost::asio::buffer(output_),
                           [self = shared_from_this()](const boost::system::error_code& error, std::size_t) {
                             if (error || !self->is_open_) return self->close();
                             self->output_ = {};
                             if (!self->backlog_.is_empty()) return self->write(self->backlog_.take());
                             self->deadline_.cancel();
                           });
}

void EventStream::close() {
  const auto self = shared_from_this();
  if (!std::exchange(is_open_, false)) return;
  deadline_.cancel();
  boost::system::error_code ignored;
  socket_.close(ignored);
  ended_(self);
}

}  // namespace esper::http
