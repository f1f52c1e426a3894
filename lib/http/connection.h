#pragma once
// One client: its requests, one after the other, or its event stream. On the loop's thread; for this room's .cpp files.
//
//   idle -> reading -> answering -> idle | lingering | streaming; closed from everywhere
//
// Each stage but streaming with nothing to write has a deadline, after which the connection is closed.

#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "http/response_text.h"
#include "http/service.h"

namespace esper::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Connection(std::shared_ptr<Service> service, Socket socket, Entrance entrance);
  void start();
  void close();
  // Where this is an event stream. `turn`: another number in each turn of the loop.
  void send_event_text(const std::string& text, std::uint64_t turn);
  bool is_local() const { return entrance_.peer.is_local; }
  bool is_stream() const { return stage_ == Stage::kStreaming; }
  // Since when it serves nobody, or, where it has to show a token, has not shown one; far in the future where it
  // serves.
  TimePoint evictable_since() const;

 private:
  enum class Stage { kIdle, kReading, kAnswering, kStreaming, kLingering, kClosed };

  void close_after(base::Duration time);
  void wait_for_request(base::Duration deadline);
  void read_header();
  void check_header();
  void continue_with(Request request);
  void read_body(Request request);
  void answer(Request request);
  void refuse(int status, const std::string& reason);
  void refuse_malformed(const boost::system::error_code& error);
  void respond(const Response& response, AfterResponse after);
  void linger();
  void begin_stream(const Response& response);
  void write_waiting();
  void discard_input();

  std::shared_ptr<Service> service_;
  Socket socket_;
  Entrance entrance_;
  boost::asio::steady_timer deadline_;
  Stage stage_ = Stage::kIdle;
  TimePoint idle_since_;
  bool is_admitted_ = false;  // a request of it has shown the token, or none is needed
  boost::beast::flat_buffer input_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  std::string output_;   // being written
  std::string waiting_;  // events that come after it
  std::uint64_t turn_ = 0;
  std::size_t left_by_turn_before_ = 0;  // bytes that were waiting when the turn began
};

}  // namespace esper::http
