#pragma once
// Asks a server one thing and waits for the answer. For event streams: http/event_reader.h. Any thread.

#include <string>
#include <string_view>

#include "base/expected.h"
#include "base/quantity.h"
#include "http/client_socket.h"
#include "http/message.h"

namespace esper::http {

// What a response may have at most.
inline constexpr std::size_t kMostResponseHeaderBytes = 16u << 10;
inline constexpr std::size_t kMostResponseBodyBytes = 64u << 20;
inline constexpr std::size_t kMostUnparsedBytes = 256u << 10;  // the line between two pieces of a body

// How far a request without a response came.
enum class RequestStage {
  kNotSent,       // the server cannot have read all of it
  kNoAnswer,      // the server may have done what it asks
  kInvalidAnswer  // as before, and the server gave an answer that is damaged or too large
};
struct RequestFailure {
  RequestStage stage = RequestStage::kNoAnswer;
  std::string reason;
};

// Of any status. The timeout is for all of it: connecting, sending, receiving. `target` is "/path?query", with parts
// that were percent-encoded (http/target.h); a body is sent as JSON. Fails where there is no response, or no whole one.
base::Expected<Response, RequestFailure> request(const Endpoint& endpoint, std::string_view method,
                                                 std::string_view target, std::string_view body,
                                                 base::Duration timeout);

}  // namespace esper::http
