#pragma once
// The socket of a client that has connected. On the loop's thread. For this room's .cpp files: it includes Boost.

#include <boost/asio/buffer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <utility>

namespace esper::http {

using Socket = boost::asio::generic::stream_protocol::socket;

// Reads and throws away what arrives until the client closes, or the socket is closed here; then calls `ended`, which
// keeps the socket and the buffer alive.
template <class Ended>
void discard_input(Socket& socket, boost::asio::mutable_buffer buffer, Ended ended) {
  socket.async_read_some(
      buffer, [&socket, buffer, ended = std::move(ended)](const boost::system::error_code& error, std::size_t) mutable {
        if (error) return ended();
        discard_input(socket, buffer, std::move(ended));
      });
}

}  // namespace esper::http
