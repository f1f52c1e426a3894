#include "http/response_text.h"

#include <fmt/core.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/status.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace esper::http {
namespace {

bool is_token(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
  return !text.empty() && text.find_first_not_of(kAllowed) == text.npos;
}

bool is_one_line(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7F); });
}

bool has_header(const Response& response, const char* name) {
  return std::ranges::any_of(response.headers, [&](const auto& h) { return strcasecmp(h.first.c_str(), name) == 0; });
}

void check_response(const Response& response) {
  ESPER_CHECK(response.status >= 200 && response.status <= 599, "a response's status must be 200 to 599");
  ESPER_CHECK(is_one_line(response.content_type), "a content type must be one line");
  for (const auto& [name, value] : response.headers)
    ESPER_CHECK(is_token(name) && is_one_line(value), "a header must be one line");
  for (const char* own : {"Content-Length", "Transfer-Encoding", "Connection", "Content-Type"})
    ESPER_CHECK(!has_header(response, own), "the server sets this header itself");
}

}  // namespace

bool may_have_body(int status) { return status != 204 && status != 304; }

std::string response_head(const Response& response, AfterResponse after) {
  check_response(response);
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(response.status));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, std::string_view(reason.data(), reason.size()));
  if (response.is_event_stream) {
    head += "Content-Type: text/event-stream\r\n";
  } else if (may_have_body(response.status)) {
    if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  constexpr std::array kDefaults{std::pair{"Cache-Control", "no-store"}, std::pair{"X-Content-Type-Options", "nosniff"},
                                 std::pair{"Referrer-Policy", "no-referrer"}};
  for (const auto& [name, value] : kDefaults)
    if (!has_header(response, name)) head += fmt::format("{}: {}\r\n", name, value);
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += after == AfterResponse::kClose ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n";
  return head;
}

Response error_response(int status, std::string_view reason) {
  const nlohmann::json body{{"error", reason}};
  Response response;
  response.status = status;
  response.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace esper::http
