#include "http/request_parts.h"

#include <boost/beast/core/string.hpp>
#include <string_view>
#include <utility>

#include "http/target.h"

namespace esper::http {
namespace {

namespace beast_http = boost::beast::http;

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string_view header(const RequestMessage& message, beast_http::field field) { return view_of(message[field]); }

// The value of a header that may come at most once; "" where it comes more often, which no rule admits.
std::optional<std::string_view> only_header(const RequestMessage& message, beast_http::field field) {
  const auto count = message.count(field);
  if (count == 0) return std::nullopt;
  return count == 1 ? header(message, field) : std::string_view();
}

// Where it does not, what follows the header would be taken for a request (RFC 9112, 6.1 and 6.3).
bool says_where_body_ends(const RequestMessage& message) {
  const auto codings = only_header(message, beast_http::field::transfer_encoding);
  return !codings || (message.version() >= 11 && boost::beast::iequals(*codings, "chunked"));
}

}  // namespace

std::variant<Request, Refusal> request_of(const RequestMessage& message, const std::string* token) {
  if (!says_where_body_ends(message)) return Refusal{400, "Transfer-Encoding must be chunked, of HTTP/1.1"};
  auto target = parse_target(view_of(message.target()));
  if (!target) return Refusal{400, target.error()};
  const auto method = view_of(message.method_string());
  Request request{.method = std::string(method == "HEAD" ? "GET" : method),
                  .path = std::move(target->path),
                  .query = std::move(target->query),
                  .content_type = std::string(header(message, beast_http::field::content_type)),
                  .authorization = std::string(header(message, beast_http::field::authorization)),
                  .body = {},
                  .peer = {}};
  if (token != nullptr) {
    const auto shown = request.query.find("token");
    const auto host = only_header(message, beast_http::field::host);
    Credentials credentials{.method = request.method,
                            .path = request.path,
                            .query_token = std::nullopt,
                            .authorization = request.authorization,
                            .host = host && !host->empty() ? host : std::nullopt,
                            .origin = only_header(message, beast_http::field::origin)};
    if (shown != request.query.end()) credentials.query_token = shown->second;
    if (auto refusal = check_loopback_access(credentials, *token)) return *std::move(refusal);
    request.query.erase("token");
  }
  return request;
}

}  // namespace esper::http
