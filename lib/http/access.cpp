#include "http/access.h"

#include <strings.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/digits_only.h"

namespace esper::http {
namespace {

bool is_same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// "localhost:8080" -> "localhost"; nothing where what follows the colon is no port.
std::optional<std::string_view> host_name(std::string_view host) {
  const auto colon = host.find(':');
  if (colon == host.npos) return host;
  const auto port = host.substr(colon + 1);
  const bool is_port = !port.empty() && port.size() <= 5 && base::digits_only(port);
  return is_port ? std::optional(host.substr(0, colon)) : std::nullopt;
}

bool is_loopback(std::string_view host) {
  const auto name = host_name(host);
  return name && (*name == "127.0.0.1" || is_same_name(*name, "localhost"));
}

bool is_own_origin(std::string_view origin, std::string_view host) {
  constexpr std::string_view kScheme = "http://";
  return origin.starts_with(kScheme) && is_same_name(origin.substr(kScheme.size()), host);
}

bool shows_token(const Credentials& credentials, std::string_view token) {
  constexpr std::string_view kScheme = "Bearer ";
  const auto& shown = credentials.authorization;
  if (!shown.empty())
    return is_same_name(shown.substr(0, kScheme.size()), kScheme) &&
           is_same_secret(shown.substr(kScheme.size()), token);
  return credentials.method == "GET" && credentials.path == "/" && credentials.query_token &&
         is_same_secret(*credentials.query_token, token);
}

}  // namespace

bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference = static_cast<unsigned char>(difference | static_cast<unsigned char>(a[i] ^ b[i]));
  return difference == 0;
}

std::optional<Refusal> check_loopback_access(const Credentials& credentials, std::string_view token) {
  ESPER_CHECK(!token.empty(), "loopback TCP needs a token");
  if (!credentials.host) return Refusal{400, "one Host header is needed"};
  if (!is_loopback(*credentials.host)) return Refusal{403, "Host must be 127.0.0.1 or localhost"};
  if (credentials.origin && !is_own_origin(*credentials.origin, *credentials.host))
    return Refusal{403, "pages of other origins are refused"};
  if (!shows_token(credentials, token)) return Refusal{401, "the access token is missing or wrong"};
  return std::nullopt;
}

}  // namespace esper::http
