#pragma once
// A client's side of a connection, with deadlines for everything. One thread.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/descriptor.h"
#include "base/expected.h"

namespace esper::http {

struct UnixEndpoint {
  std::string path;
};
struct LoopbackEndpoint {
  std::uint16_t port = 0;
  std::string token;
};
// Where a server listens.
using Endpoint = std::variant<UnixEndpoint, LoopbackEndpoint>;

using Deadline = std::chrono::steady_clock::time_point;

base::Expected<base::Descriptor> connect_to(const Endpoint& endpoint, Deadline deadline);

enum class ReadEnd { kData, kClosed, kTimeOut };
struct ReadResult {
  ReadEnd end = ReadEnd::kClosed;
  std::string_view bytes;  // of kData; in the buffer
};
// Waits for what comes, at most until the deadline. Fails where the connection broke.
base::Expected<ReadResult> read_some(const base::Descriptor& connection, std::string& buffer, Deadline deadline);

// Host and Authorization, each line with its end.
std::string endpoint_headers(const Endpoint& endpoint);

// Whether a text can stand in a request line: visible ASCII characters alone, at least one.
bool is_request_word(std::string_view text);

}  // namespace esper::http
