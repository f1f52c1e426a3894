#include "http/client.h"

#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstring>
#include <utility>

#include "base/text/timed_write.h"

namespace esper::http {
namespace {

namespace response_http = boost::beast::http;
using ResponseParser = response_http::response_parser<response_http::string_body>;
using Stage = RequestStage;

base::Failure<RequestFailure> failure(Stage stage, std::string reason) {
  return base::failure(RequestFailure{stage, std::move(reason)});
}

std::string request_text(const Endpoint& endpoint, std::string_view method, std::string_view target,
                         std::string_view body) {
  std::string text =
      fmt::format("{} {} HTTP/1.1\r\n{}Connection: close\r\n", method, target, endpoint_headers(endpoint));
  if (!body.empty()) text += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  text += "\r\n";
  text += body;
  return text;
}

// Takes what the connection brings until the response is complete.
base::Expected<void, RequestFailure> receive(const base::Descriptor& connection, ResponseParser& parser,
                                             Deadline deadline) {
  std::string buffer, unparsed;
  while (!parser.is_done()) {
    const auto read = read_some(connection, buffer, deadline);
    if (!read) return failure(Stage::kNoAnswer, read.error());
    if (read->end == ReadEnd::kTimeOut) return failure(Stage::kNoAnswer, "no answer in time");
    boost::system::error_code error;
    if (read->end == ReadEnd::kClosed) {
      if (!parser.got_some()) return failure(Stage::kNoAnswer, "the server closed the connection without an answer");
      parser.put_eof(error);
    } else {
      unparsed += read->bytes;
      unparsed.erase(0, parser.put(boost::asio::buffer(unparsed), error));
    }
    if (error && error != response_http::error::need_more)
      return failure(Stage::kInvalidAnswer, "the answer is not valid: " + error.message());
    if (unparsed.size() > kMostUnparsedBytes)
      return failure(Stage::kInvalidAnswer, "the answer is not valid: a line is too long");
  }
  return {};
}

Response response_of(ResponseParser& parser) {
  auto message = parser.release();
  Response response;
  response.status = message.result_int();
  response.content_type = {};
  response.body = std::move(message.body());
  for (const auto& field : message) {
    if (field.name() == response_http::field::content_type) response.content_type = std::string(field.value());
    response.headers.emplace_back(field.name_string(), field.value());
  }
  return response;
}

}  // namespace

base::Expected<Response, RequestFailure> request(const Endpoint& endpoint, std::string_view method,
                                                 std::string_view target, std::string_view body,
                                                 base::Duration timeout) {
  if (!is_request_word(method) || !is_request_word(target))
    return failure(Stage::kNotSent, "method and target must be visible ASCII characters");
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  const auto connection = connect_to(endpoint, deadline);
  if (!connection) return failure(Stage::kNotSent, connection.error());
  const auto sent = base::write_all(connection->number(), request_text(endpoint, method, target, body),
                                    deadline - std::chrono::steady_clock::now());
  if (sent.error == ETIMEDOUT) return failure(Stage::kNotSent, "the server did not take the request in time");
  // Any other error: a server that refuses early has answered all the same.
  ResponseParser parser;
  parser.header_limit(kMostResponseHeaderBytes);
  parser.body_limit(kMostResponseBodyBytes);
  parser.eager(true);
  if (method == "HEAD") parser.skip(true);
  if (auto received = receive(*connection, parser, deadline); !received) {
    const bool is_unsent = sent.error != 0 && received.error().stage == Stage::kNoAnswer;
    return failure(is_unsent ? Stage::kNotSent : received.error().stage, received.error().reason);
  }
  return response_of(parser);
}

}  // namespace esper::http
