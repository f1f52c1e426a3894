#pragma once
// An HTTP/1.1 server on unix-domain sockets and loopback TCP, on an event loop of the caller's.
//
//   boost::asio::io_context loop;
//   http::Server server(loop, [](const http::Request& request) { return answer(request); });
//   if (auto listening = server.listen_unix(path); !listening) report(listening.error());
//   loop.run();
//
// All methods, and the handler, are called on the loop's thread (or before it runs). The handler must not wait; what
// takes long it does in parts (Response::later). What it throws becomes a response 500 that has the reason. Where no
// client is connected the loop only waits for connections: there are no timers (Asio leaves the kernel's timer set when
// a deadline is cancelled, so the last one may wake the loop once more). The loop must outlive the server.

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/expected.h"
#include "http/limits.h"
#include "http/message.h"

namespace esper::http {

using Handler = std::function<Response(const Request&)>;

// This process's user, and root.
bool is_owner_or_root(const Peer& peer);

struct ServerOptions {
  Limits limits;
  // Who may connect to unix-domain sockets; all others are closed at once.
  std::function<bool(const Peer&)> admits = is_owner_or_root;
};

// Since the server began, but for `open` and `streams`: now.
struct ServerCounts {
  std::size_t open = 0;
  std::size_t streams = 0;
  std::size_t accepted = 0;
  std::size_t refused_peers = 0;    // other users
  std::size_t refused_full = 0;     // all connections were in use
  std::size_t refused_access = 0;   // token, Host or Origin
  std::size_t dropped_streams = 0;  // did not read
};

class Service;

class Server {
 public:
  Server(boost::asio::io_context& loop, Handler handler, ServerOptions options = {});
  ~Server();  // close()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Only this user's processes and root's can ask. A stale socket file is replaced; the path may be of any length.
  base::Expected<void> listen_unix(const std::string& path);
  // On 127.0.0.1; port 0 takes a free one. Returns the port. What a client must show: http/access.h.
  base::Expected<std::uint16_t> listen_loopback(std::uint16_t port, const std::string& token);

  // To all event streams. A stream whose client does not read is dropped.
  void publish(const Event& event);
  // Ends all connections and removes the socket files. The handler is not called any more.
  void close();
  ServerCounts counts() const;

 private:
  std::shared_ptr<Service> service_;
};

}  // namespace esper::http
