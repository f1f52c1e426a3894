#pragma once
// One client: its requests, one after the other, until one asks for an event stream (event_stream.h), which takes the
// socket over. On the loop's thread; for this room's .cpp files.
//
//   idle -> reading -> answering -> idle | lingering; closed from everywhere
//
// Each stage has a deadline, after which the connection is closed.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "http/request_reader.h"
#include "http/response_text.h"
#include "http/server_socket.h"
#include "http/service.h"
#include "http/timeout.h"

namespace esper::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Connection(std::shared_ptr<Service> service, Socket socket, Entrance entrance);
  void start();
  void close();
  bool is_local() const { return entrance_.peer.is_local; }
  // Since when it serves nobody, or, where it has to show a token, has not shown one; far in the future where it
  // serves.
  TimePoint evictable_since() const;

 private:
  enum class Stage { kIdle, kReading, kAnswering, kLingering, kClosed };

  void close_after(base::Duration time);
  void wait_for_request(base::Duration deadline);
  void read_request();
  void check_access();
  void read_body(Request request);
  void answer(Request request);
  void take(Response response);
  void refuse(const Refusal& refusal);
  void respond(const Response& response, AfterResponse after);
  void linger();
  void begin_stream(const Response& response);

  std::shared_ptr<Service> service_;
  Socket socket_;
  Entrance entrance_;
  RequestReader reader_;
  Timeout deadline_;
  Stage stage_ = Stage::kIdle;
  TimePoint idle_since_;
  bool is_admitted_ = false;  // a request of it has shown the token, or none is needed
  std::string output_;        // being written
};

}  // namespace esper::http
