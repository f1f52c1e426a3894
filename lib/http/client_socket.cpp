#include "http/client_socket.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "http/unix_address.h"

namespace esper::http {
namespace {

constexpr std::size_t kReadBuffer = 64u << 10;

std::chrono::microseconds left_until(Deadline deadline) {
  return std::max(std::chrono::microseconds(1),
                  std::chrono::ceil<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now()));
}

// connect(2) waits as long as a blocking socket may wait for sending, on TCP and, for room in the backlog, on unix
// sockets.
base::Expected<base::Descriptor> connected(int family, const sockaddr* address, socklen_t size, Deadline deadline) {
  base::Descriptor result(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!result.is_open()) return base::failure(fmt::format("cannot make a socket: {}", std::strerror(errno)));
  for (;;) {
    const auto left = left_until(deadline).count();
    const timeval timeout{.tv_sec = left / 1'000'000, .tv_usec = left % 1'000'000};
    setsockopt(result.number(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    if (connect(result.number(), address, size) == 0 || errno == EISCONN) return result;
    if (errno == EAGAIN || errno == EINPROGRESS) return base::failure("no answer in time");
    if (errno != EINTR && errno != EALREADY) return base::failure(std::strerror(errno));
  }
}

}  // namespace

base::Expected<base::Descriptor> connect_to(const Endpoint& endpoint, Deadline deadline) {
  if (const auto* local = std::get_if<UnixEndpoint>(&endpoint)) {
    const auto address = unix_address(local->path);
    if (!address) return base::failure(address.error());
    auto result = connected(AF_UNIX, address->get(), sizeof(address->address), deadline);
    if (!result) return base::failure(fmt::format("cannot connect to {}: {}", local->path, result.error()));
    return result;
  }
  const auto port = std::get<LoopbackEndpoint>(endpoint).port;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto result = connected(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof(address), deadline);
  if (!result) return base::failure(fmt::format("cannot connect to 127.0.0.1:{}: {}", port, result.error()));
  return result;
}

base::Expected<ReadResult> read_some(const base::Descriptor& connection, std::string& buffer, Deadline deadline) {
  buffer.resize(kReadBuffer);
  for (;;) {
    const auto count = recv(connection.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0)
      return ReadResult{ReadEnd::kData, std::string_view(buffer).substr(0, static_cast<std::size_t>(count))};
    if (count == 0) return ReadResult{ReadEnd::kClosed, {}};
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
      return base::failure(fmt::format("the connection broke: {}", std::strerror(errno)));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return ReadResult{ReadEnd::kTimeOut, {}};
    pollfd entry{connection.number(), POLLIN, 0};
    poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
  }
}

std::string endpoint_headers(const Endpoint& endpoint) {
  const auto* loopback = std::get_if<LoopbackEndpoint>(&endpoint);
  if (loopback == nullptr) return "Host: localhost\r\n";
  return fmt::format("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n", loopback->port, loopback->token);
}

bool is_request_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace esper::http
