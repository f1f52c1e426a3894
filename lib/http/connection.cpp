#include "http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "base/error.h"
#include "http/request_parts.h"

namespace esper::http {
namespace {

using ErrorCode = boost::system::error_code;

bool is_head(const RequestMessage& message) { return message.method() == boost::beast::http::verb::head; }

}  // namespace

Connection::Connection(std::shared_ptr<Service> service, Socket socket, Entrance entrance)
    : service_(std::move(service)),
      socket_(std::move(socket)),
      entrance_(std::move(entrance)),
      reader_(socket_, service_->options().limits),
      deadline_(service_->loop()),
      is_admitted_(entrance_.token == nullptr) {}

void Connection::start() { wait_for_request(service_->options().limits.request); }

void Connection::close() {
  const auto self = shared_from_this();
  if (std::exchange(stage_, Stage::kClosed) == Stage::kClosed) return;
  deadline_.cancel();
  ErrorCode ignored;
  socket_.close(ignored);
  service_->connection_ended(self);
}

Connection::TimePoint Connection::evictable_since() const {
  if (stage_ == Stage::kLingering) return TimePoint::min();
  const bool is_waited_for = stage_ == Stage::kIdle || stage_ == Stage::kReading;
  if (!is_admitted_ && is_waited_for) return idle_since_;  // any user of the machine can begin a request
  ErrorCode error;
  return stage_ == Stage::kIdle && socket_.available(error) == 0 ? idle_since_ : TimePoint::max();
}

void Connection::close_after(base::Duration time) {
  deadline_.set(time, [self = shared_from_this()] { self->close(); });
}

void Connection::wait_for_request(base::Duration deadline) {
  reader_.begin_request();
  if (reader_.has_input()) return read_request();
  stage_ = Stage::kIdle;
  idle_since_ = std::chrono::steady_clock::now();
  close_after(deadline);
  reader_.wait_for_input([self = shared_from_this()](const std::optional<Refusal>& failure) {
    if (failure || self->stage_ == Stage::kClosed) return self->close();
    self->read_request();
  });
}

void Connection::read_request() {
  stage_ = Stage::kReading;
  close_after(service_->options().limits.request);
  reader_.read_header([self = shared_from_this()](const std::optional<Refusal>& failure) {
    if (self->stage_ == Stage::kClosed) return;
    failure ? self->refuse(*failure) : self->check_access();
  });
}

void Connection::check_access() {
  auto request = request_of(reader_.message(), entrance_.token.get());
  if (const auto* refusal = std::get_if<Refusal>(&request)) {
    if (entrance_.token && refusal->status != 400) service_->count(&ServerCounts::refused_access);
    return refuse(*refusal);
  }
  is_admitted_ = true;
  read_body(std::get<Request>(std::move(request)));
}

void Connection::read_body(Request request) {
  reader_.read_body(
      [self = shared_from_this(), request = std::move(request)](const std::optional<Refusal>& failure) mutable {
        if (self->stage_ == Stage::kClosed) return;
        failure ? self->refuse(*failure) : self->answer(std::move(request));
      });
}

void Connection::answer(Request request) {
  stage_ = Stage::kAnswering;
  request.body = reader_.take_body();
  request.peer = entrance_.peer;
  close_after(service_->options().limits.answer);
  take(service_->answer(request));
}

void Connection::take(Response response) {
  if (stage_ == Stage::kClosed) return;  // the handler closed the server
  if (response.later) {
    return boost::asio::post(service_->loop(), [self = shared_from_this(), later = std::move(response.later)] {
      if (self->stage_ != Stage::kClosed) self->take(self->service_->go_on(later));
    });
  }
  if (response.is_event_stream && !is_head(reader_.message())) return begin_stream(response);
  const bool keep = reader_.message().keep_alive() && response.status != 500 && !response.is_event_stream;
  respond(response, keep ? AfterResponse::kKeepOpen : AfterResponse::kClose);
}

void Connection::refuse(const Refusal& refusal) {
  if (refusal.status == 0) return close();
  respond(error_response(refusal.status, refusal.reason), AfterResponse::kClose);
}

void Connection::respond(const Response& response, AfterResponse after) {
  stage_ = Stage::kAnswering;
  try {
    output_ = response_head(response, after);
  } catch (const base::Error& error) {
    return refuse({500, error.what()});
  }
  if (may_have_body(response.status) && !is_head(reader_.message())) output_ += response.body;
  close_after(service_->options().limits.write);
  boost::asio::async_write(socket_, boost::asio::buffer(output_),
                           [self = shared_from_this(), after](const ErrorCode& error, std::size_t) {
                             if (error || self->stage_ == Stage::kClosed) return self->close();
                             self->output_ = {};
                             if (after == AfterResponse::kKeepOpen)
                               return self->wait_for_request(self->service_->options().limits.idle);
                             self->linger();
                           });
}

// A close with input that was not read would destroy a response that the client has not read yet.
void Connection::linger() {
  ErrorCode error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) return close();
  stage_ = Stage::kLingering;
  close_after(service_->options().limits.linger);
  reader_.discard([self = shared_from_this()] { self->close(); });
}

void Connection::begin_stream(const Response& response) {
  if (!service_->streams().has_room(entrance_.peer)) {
    return refuse({503, "too many event streams: at most " + std::to_string(service_->options().limits.streams) +
                            " at once; try again when one has ended"});
  }
  std::string head;
  try {
    head = response_head(response, AfterResponse::kClose);
  } catch (const base::Error& error) {
    return refuse({500, error.what()});
  }
  service_->streams().begin(std::move(socket_), entrance_.peer, std::move(head));
  close();  // what is left: the socket is the stream's
}

}  // namespace esper::http
