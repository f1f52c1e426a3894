#include "support/raw_client.h"

#include <sys/socket.h>

#include <stdexcept>

#include "base/text/timed_write.h"
#include "support/patience.h"

namespace esper::test {
namespace {

http::Deadline client_patience() { return std::chrono::steady_clock::now() + kPatience; }

}  // namespace

RawClient::RawClient(const http::Endpoint& endpoint) {
  auto connection = http::connect_to(endpoint, client_patience());
  if (!connection) throw std::runtime_error(connection.error());
  connection_ = *std::move(connection);
}

bool RawClient::send(std::string_view bytes, base::Duration timeout) {
  return base::write_all(connection_.number(), bytes, timeout).error == 0;
}

bool RawClient::send(std::string_view bytes) { return send(bytes, kPatience); }

void RawClient::end_input() { shutdown(connection_.number(), SHUT_WR); }

std::string RawClient::read_all() {
  std::string all, buffer;
  for (;;) {
    const auto read = http::read_some(connection_, buffer, client_patience());
    if (!read) return all + "[the connection broke]";
    if (read->end == http::ReadEnd::kClosed) return all;
    if (read->end == http::ReadEnd::kTimeOut) return all + "[the server did not close the connection]";
    all += read->bytes;
  }
}

std::string RawClient::read_until(std::string_view end) {
  std::string all, byte(1, '\0');
  const auto deadline = client_patience();
  while (!all.ends_with(end) && std::chrono::steady_clock::now() < deadline) {
    const auto count = recv(connection_.number(), byte.data(), 1, 0);
    if (count <= 0) break;
    all += byte;
  }
  return all;
}

bool RawClient::is_closed_within(base::Duration timeout) {
  std::string buffer;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto read = http::read_some(connection_, buffer, deadline);
    if (!read || read->end == http::ReadEnd::kClosed) return true;
    if (read->end == http::ReadEnd::kTimeOut) return false;
  }
}

}  // namespace esper::test
