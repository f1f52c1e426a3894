#include "http/connection.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <utility>

#include "base/error.h"
#include "http/request_parts.h"

namespace esper::http {
namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kReadAtOnce = 4096;
// Beast reads bodies in pieces of at most so many bytes.
constexpr std::size_t kBodyPiece = 64u << 10;

bool wants_continue(const RequestMessage& message) {
  return boost::beast::iequals(message[beast_http::field::expect], "100-continue");
}

// 0 where there is nobody left to answer.
int status_of(const ErrorCode& error) {
  if (error == beast_http::error::end_of_stream ||
      error.category() != make_error_code(beast_http::error::bad_method).category())
    return 0;
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow) return 431;
  if (error == beast_http::error::body_limit) return 413;
  return 400;
}

}  // namespace

Connection::Connection(std::shared_ptr<Service> service, Socket socket, Entrance entrance)
    : service_(std::move(service)),
      socket_(std::move(socket)),
      entrance_(std::move(entrance)),
      deadline_(service_->loop()),
      is_admitted_(entrance_.token == nullptr),
      input_(service_->options().limits.header_bytes + kBodyPiece) {}

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
  const Limits& limits = service_->options().limits;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  parser_->body_limit(limits.body_bytes);
  if (input_.size() > 0) return read_header();  // of a client that does not wait for responses
  stage_ = Stage::kIdle;
  idle_since_ = std::chrono::steady_clock::now();
  close_after(deadline);
  socket_.async_read_some(input_.prepare(kReadAtOnce),
                          [self = shared_from_this()](const ErrorCode& error, std::size_t count) {
                            if (error || self->stage_ == Stage::kClosed) return self->close();
                            self->input_.commit(count);
                            self->read_header();
                          });
}

void Connection::read_header() {
  stage_ = Stage::kReading;
  close_after(service_->options().limits.request);
  beast_http::async_read_header(socket_, input_, *parser_,
                                [self = shared_from_this()](const ErrorCode& error, std::size_t) {
                                  if (self->stage_ == Stage::kClosed) return;
                                  error ? self->refuse_malformed(error) : self->check_header();
                                });
}

void Connection::check_header() {
  auto request = request_of(parser_->get(), entrance_.token.get());
  if (const auto* refusal = std::get_if<Refusal>(&request)) {
    if (entrance_.token && refusal->status != 400) service_->count(&ServerCounts::refused_access);
    return refuse(refusal->status, refusal->reason);
  }
  is_admitted_ = true;
  if (parser_->is_done()) return answer(std::get<Request>(std::move(request)));
  if (wants_continue(parser_->get())) return continue_with(std::get<Request>(std::move(request)));
  read_body(std::get<Request>(std::move(request)));
}

void Connection::continue_with(Request request) {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(
      socket_, asio::buffer(kContinue.data(), kContinue.size()),
      [self = shared_from_this(), request = std::move(request)](const ErrorCode& error, std::size_t) mutable {
        if (error || self->stage_ == Stage::kClosed) return self->close();
        self->read_body(std::move(request));
      });
}

void Connection::read_body(Request request) {
  beast_http::async_read(
      socket_, input_, *parser_,
      [self = shared_from_this(), request = std::move(request)](const ErrorCode& error, std::size_t) mutable {
        if (self->stage_ == Stage::kClosed) return;
        if (error) return self->refuse_malformed(error);
        self->answer(std::move(request));
      });
}

void Connection::answer(Request request) {
  stage_ = Stage::kAnswering;
  request.body = std::move(parser_->get().body());
  request.peer = entrance_.peer;
  const Response response = service_->answer(request);
  if (stage_ == Stage::kClosed) return;  // the handler closed the server
  const bool is_head = parser_->get().method() == beast_http::verb::head;
  if (response.is_event_stream && !is_head) return begin_stream(response);
  const bool keep = parser_->get().keep_alive() && response.status != 500 && !response.is_event_stream;
  respond(response, keep ? AfterResponse::kKeepOpen : AfterResponse::kClose);
}

void Connection::refuse_malformed(const ErrorCode& error) {
  const int status = status_of(error);
  if (status == 0) return close();
  refuse(status, error.message());
}

void Connection::refuse(int status, const std::string& reason) {
  respond(error_response(status, reason), AfterResponse::kClose);
}

void Connection::respond(const Response& response, AfterResponse after) {
  stage_ = Stage::kAnswering;
  try {
    output_ = response_head(response, after);
  } catch (const base::Error& error) {
    return refuse(500, error.what());
  }
  if (may_have_body(response.status) && parser_->get().method() != beast_http::verb::head) output_ += response.body;
  close_after(service_->options().limits.write);
  asio::async_write(socket_, asio::buffer(output_),
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
  input_.clear();
  discard_input(socket_, input_.prepare(kReadAtOnce), [self = shared_from_this()] { self->close(); });
}

void Connection::begin_stream(const Response& response) {
  if (!service_->streams().has_room(entrance_.peer)) {
    return refuse(503, "too many event streams: at most " + std::to_string(service_->options().limits.streams) +
                           " at once; try again when one has ended");
  }
  std::string head;
  try {
    head = response_head(response, AfterResponse::kClose);
  } catch (const base::Error& error) {
    return refuse(500, error.what());
  }
  service_->streams().begin(std::move(socket_), entrance_.peer, std::move(head));
  close();  // what is left: the socket is the stream's
}

}  // namespace esper::http
