#include "http/event_reader.h"

#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <utility>

#include "base/text/json_fields.h"
#include "base/text/json_struct.h"
#include "base/text/timed_write.h"
#include "http/client.h"

namespace esper::http {
namespace {

namespace stream_http = boost::beast::http;

constexpr std::size_t kMostReasonBytes = 1000;

enum class StreamEnd { kOpen, kTimeOut };

}  // namespace

struct EventReader::Stream {
  base::Descriptor connection;
  stream_http::response_parser<stream_http::string_body> parser;
  EventParser events{kMostEventBytes};
  std::string buffer;
  std::string unparsed;

  // Reads once, and hands the body that came to `events`.
  base::Expected<StreamEnd> read(Deadline deadline);
  base::Expected<void> read_header(Deadline deadline);
  base::Expected<void> read_reason(Deadline deadline);
  base::Expected<void> take_body();
};

base::Expected<StreamEnd> EventReader::Stream::read(Deadline deadline) {
  const auto result = read_some(connection, buffer, deadline);
  if (!result) return base::failure(result.error());
  if (result->end == ReadEnd::kTimeOut) return StreamEnd::kTimeOut;
  if (result->end == ReadEnd::kClosed) return base::failure("the server ended the stream");
  unparsed += result->bytes;
  boost::system::error_code error;
  unparsed.erase(0, parser.put(boost::asio::buffer(unparsed), error));
  if (error && error != stream_http::error::need_more)
    return base::failure("the answer is not valid: " + error.message());
  if (unparsed.size() > kMostUnparsedBytes) return base::failure("the answer is not valid: a line is too long");
  return StreamEnd::kOpen;
}

base::Expected<void> EventReader::Stream::take_body() { return events.add(std::exchange(parser.get().body(), {})); }

base::Expected<void> EventReader::Stream::read_header(Deadline deadline) {
  parser.header_limit(kMostResponseHeaderBytes);
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  parser.eager(true);
  while (!parser.is_header_done()) {
    const auto end = read(deadline);
    if (!end) return base::failure(end.error());
    if (*end == StreamEnd::kTimeOut) return base::failure("no answer in time");
  }
  const auto type = parser.get()[stream_http::field::content_type];
  if (parser.get().result() == stream_http::status::ok && type.starts_with("text/event-stream")) return take_body();
  return read_reason(deadline);
}

// Always fails, with as much of the server's reason as comes in time.
base::Expected<void> EventReader::Stream::read_reason(Deadline deadline) {
  while (!parser.is_done() && parser.get().body().size() < kMostReasonBytes) {
    const auto end = read(deadline);
    if (!end || *end == StreamEnd::kTimeOut) break;
  }
  const auto& body = parser.get().body();
  const auto document = base::parse_json(body, body.size());
  const std::string error = document ? base::text_at(*document, "error") : "";
  return base::failure(fmt::format("no event stream, but status {}: {}", parser.get().result_int(),
                                   (error.empty() ? body : error).substr(0, kMostReasonBytes)));
}

base::Expected<EventReader> EventReader::open(const Endpoint& endpoint, std::string_view target,
                                              base::Duration timeout) {
  if (!is_request_word(target)) return base::failure("the target must be visible ASCII characters");
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  auto connection = connect_to(endpoint, deadline);
  if (!connection) return base::failure(connection.error());
  const std::string text =
      fmt::format("GET {} HTTP/1.1\r\n{}Accept: text/event-stream\r\n\r\n", target, endpoint_headers(endpoint));
  base::write_all(connection->number(), text, deadline - std::chrono::steady_clock::now());
  auto stream = std::make_unique<Stream>();
  stream->connection = *std::move(connection);
  if (auto header = stream->read_header(deadline); !header) return base::failure(header.error());
  return EventReader(std::move(stream));
}

EventReader::EventReader(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
EventReader::EventReader(EventReader&&) noexcept = default;
EventReader& EventReader::operator=(EventReader&&) noexcept = default;
EventReader::~EventReader() = default;

int EventReader::descriptor() const { return stream_->connection.number(); }

base::Expected<std::optional<Event>> EventReader::next(base::Duration timeout) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (auto event = stream_->events.next()) return event;
    if (stream_->parser.is_done()) return base::failure("the server ended the stream");
    const auto end = stream_->read(deadline);
    if (!end) return base::failure(end.error());
    if (*end == StreamEnd::kTimeOut) return std::optional<Event>();
    if (auto taken = stream_->take_body(); !taken) return base::failure(taken.error());
  }
}

}  // namespace esper::http
