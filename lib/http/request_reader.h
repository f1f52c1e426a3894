#pragma once
// Reads one client's requests from its socket, one after the other, each within the limits. On the loop's thread; for
// this room's .cpp files: it includes Boost.
//
//   begin_request -> wait_for_input, unless has_input() -> read_header -> read_body -> begin_request

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "http/access.h"
#include "http/limits.h"
#include "http/request_parts.h"
#include "http/server_socket.h"

namespace esper::http {

class RequestReader {
 public:
  // Called once, with the reason where the read failed, whose status is 0 where nobody is left to answer; with either
  // where the socket was closed here meanwhile. Keeps the reader and the socket alive.
  using Done = std::function<void(const std::optional<Refusal>& failure)>;

  // Borrows both.
  RequestReader(Socket& socket, const Limits& limits);

  // The next one is read from here on; message() is empty.
  void begin_request();
  // Part of it has been read: of a client that does not wait for responses.
  bool has_input() const { return input_.size() > 0; }
  void wait_for_input(Done done);
  void read_header(Done done);
  // The rest, at once where there is none. A client that waits for it is asked to send it (RFC 9110, 10.1.1).
  void read_body(Done done);
  // Throws away what arrives until the client closes, or the socket is closed here.
  void discard(std::function<void()> ended);

  // As far as it was read.
  const RequestMessage& message() const { return parser_->get(); }
  std::string take_body() { return std::move(parser_->get().body()); }

 private:
  void read_rest(Done done);

  Socket& socket_;
  const Limits& limits_;
  boost::beast::flat_buffer input_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
};

}  // namespace esper::http
