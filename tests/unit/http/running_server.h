#pragma once
// A server on a thread of its own, and a client that sends any bytes.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "http/client_socket.h"
#include "http/server.h"
#include "support/temporary_folder.h"

namespace esper::test {

// "METHOD path name=value ... body" of the request as text.
http::Response echo(const http::Request& request);

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

class RunningServer {
 public:
  explicit RunningServer(http::Handler handler = echo, http::ServerOptions options = {});
  ~RunningServer();

  http::Endpoint endpoint() const { return http::UnixEndpoint{folder_ / "socket"}; }
  http::LoopbackEndpoint listen_loopback(const std::string& token);
  // Calls it on the server's thread, and waits.
  void on_loop(const std::function<void(http::Server&)>& work);
  void publish(const http::Event& event);
  http::ServerCounts counts();
  // Waits until the counts are so; false where they never are.
  bool comes_to(const std::function<bool(const http::ServerCounts&)>& condition);
  pid_t thread() const { return thread_; }

 private:
  struct Parts;
  TemporaryFolder folder_;
  std::unique_ptr<Parts> parts_;
  pid_t thread_ = 0;
};

class RawClient {
 public:
  explicit RawClient(const http::Endpoint& endpoint);
  // Whether all was taken.
  bool send(std::string_view bytes, base::Duration timeout);
  bool send(std::string_view bytes);
  // Tells the server that no more will come.
  void end_input();
  // What comes until the server closes the connection; its last words say so where it did not, or did it with a reset.
  std::string read_all();
  // What comes, up to and with `end`; all there was where the connection ended before.
  std::string read_until(std::string_view end);
  bool is_closed_within(base::Duration timeout);
  int number() const { return connection_.number(); }

 private:
  base::Descriptor connection_;
};

}  // namespace esper::test
