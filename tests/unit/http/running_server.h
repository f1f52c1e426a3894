#pragma once
// A server on a thread of its own, and a client that sends any bytes.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "http/server.h"
#include "support/raw_client.h"
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

}  // namespace esper::test
