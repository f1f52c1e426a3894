#include "http/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <string_view>
#include <utility>

namespace esper::http {
namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kReadAtOnce = 4096;
// Beast reads bodies in pieces of at most so many bytes.
constexpr std::size_t kBodyPiece = 64u << 10;

bool wants_continue(const RequestMessage& message) {
  return message.version() >= 11 && boost::beast::iequals(message[beast_http::field::expect], "100-continue");
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

std::optional<Refusal> failure_of(const ErrorCode& error) {
  if (!error) return std::nullopt;
  return Refusal{status_of(error), error.message()};
}

}  // namespace

RequestReader::RequestReader(Socket& socket, const Limits& limits)
    : socket_(socket), limits_(limits), input_(limits.header_bytes + kBodyPiece) {}

void RequestReader::begin_request() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  parser_->body_limit(limits_.body_bytes);
}

void RequestReader::wait_for_input(Done done) {
  socket_.async_read_some(input_.prepare(kReadAtOnce),
                          [this, done = std::move(done)](const ErrorCode& error, std::size_t count) {
                            input_.commit(count);
                            done(failure_of(error));
                          });
}

void RequestReader::read_header(Done done) {
  beast_http::async_read_header(
      socket_, input_, *parser_,
      [done = std::move(done)](const ErrorCode& error, std::size_t) { done(failure_of(error)); });
}

void RequestReader::read_body(Done done) {
  if (parser_->is_done()) return done(std::nullopt);
  if (!wants_continue(message())) return read_rest(std::move(done));
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket_, asio::buffer(kContinue.data(), kContinue.size()),
                    [this, done = std::move(done)](const ErrorCode& error, std::size_t) mutable {
                      if (error) return done(failure_of(error));
                      read_rest(std::move(done));
                    });
}

void RequestReader::read_rest(Done done) {
  beast_http::async_read(socket_, input_, *parser_,
                         [done = std::move(done)](const ErrorCode& error, std::size_t) { done(failure_of(error)); });
}

void RequestReader::discard(std::function<void()> ended) {
  input_.clear();
  discard_input(socket_, input_.prepare(kReadAtOnce), std::move(ended));
}

}  // namespace esper::http
