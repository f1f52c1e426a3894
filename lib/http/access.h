#pragma once
// Who may ask over loopback TCP, where any user of the machine, and any web page in a browser on it, can connect.
// Any thread.
//
// - The token is shown with each request, as "Authorization: Bearer TOKEN"; GET of the page "/" may carry it as
//   ?token=TOKEN instead, since a browser's first request has no headers of ours. Not as a cookie: browsers send those
//   to every port of a host, so to other users' servers on this machine as well.
// - Host must be this machine's loopback name: a page of another site whose name was made to resolve to 127.0.0.1 (DNS
//   rebinding) still sends its own name. The port is free: ssh -L changes it.
// - Origin, where there is one, must be that of Host, so that pages of other sites cannot post anything.

#include <optional>
#include <string>
#include <string_view>

namespace esper::http {

struct Credentials {
  std::string_view method;
  std::string_view path;
  std::optional<std::string_view> query_token;
  std::string_view authorization;
  std::optional<std::string_view> host;    // nothing where there is none, or more than one
  std::optional<std::string_view> origin;  // nothing where there is none
};

struct Refusal {
  int status = 0;
  std::string reason;
};

// Nothing where the request is admitted. The token must not be empty.
std::optional<Refusal> check_loopback_access(const Credentials& credentials, std::string_view token);

// The time depends on the lengths alone.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace esper::http
