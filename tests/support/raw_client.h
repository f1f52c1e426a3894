#pragma once
// A client of an HTTP server that sends any bytes.

#include <string>
#include <string_view>

#include "base/quantity.h"
#include "http/client_socket.h"

namespace esper::test {

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
