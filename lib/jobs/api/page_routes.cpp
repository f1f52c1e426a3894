#include "jobs/api/page_routes.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "jobs_openapi.h"
#include "jobs_page.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kNoncePlace = "NONCE";

std::string new_nonce() {
  std::array<std::uint64_t, 2> words{};
  if (::getrandom(words.data(), sizeof words, 0) != sizeof words)
    throw std::system_error(errno, std::generic_category(), "random numbers");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

// Only the page's own script and style run, which have the nonce, and it asks nobody but this server.
http::Response page() {
  const std::string nonce = new_nonce();
  const std::string policy = fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; img-src data:; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      nonce);
  std::string text(kPage);
  for (auto at = text.find(kNoncePlace); at != std::string::npos; at = text.find(kNoncePlace, at))
    text.replace(at, kNoncePlace.size(), nonce);
  return {.content_type = "text/html; charset=utf-8",
          .body = std::move(text),
          .headers = {{"Content-Security-Policy", policy}, {"X-Frame-Options", "DENY"}}};
}

}  // namespace

void add_page_routes(Router& router) {
  using http::Request;
  router.add("GET", "/", [](const Request&, std::int64_t) { return page(); });
  router.add("GET", "/v1/openapi.json",
             [](const Request&, std::int64_t) { return http::Response{.body = std::string(kOpenApi)}; });
}

}  // namespace esper::jobs
