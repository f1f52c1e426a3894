#pragma once
// Requests, responses and events of an event stream as plain data, but for a response that is still to be made.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace esper::http {

// Who asks. Of a client over TCP the kernel reports neither user nor process.
struct Peer {
  bool is_local = false;  // came through a unix-domain socket
  uid_t uid = static_cast<uid_t>(-1);
  pid_t pid = 0;
};

struct Request {
  std::string method;                        // HEAD arrives as GET: the server leaves the body of the response out
  std::string path;                          // begins with "/"; percent-decoded, valid UTF-8 without control characters
  std::map<std::string, std::string> query;  // percent-decoded, valid UTF-8; without the access token
  // Empty where the client sent none.
  std::string content_type;
  std::string authorization;
  std::string body;
  Peer peer;
};

// One server-sent event.
struct Event {
  std::int64_t id = 0;
  std::string name{};  // one line without control characters; empty for the default, "message"
  std::string data{};  // lines are separated by "\n"
  bool operator==(const Event&) const = default;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  // A stream stays open for each event that the server publishes. The body is not sent.
  bool is_event_stream = false;
  // Where the answer takes long: not null, and nothing else in here counts. The server calls it on its loop's thread,
  // after what else is due by then, until it returns a response without it.
  std::function<Response()> later{};
};

}  // namespace esper::http
