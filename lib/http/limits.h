#pragma once
// What a client may use of a server.

#include <chrono>
#include <cstddef>

#include "base/quantity.h"

namespace esper::http {

struct Limits {
  std::size_t header_bytes = 16u << 10;
  std::size_t body_bytes = 8u << 20;
  // Of local sockets, and as many of TCP: whoever reaches the one cannot keep the other from being reached.
  std::size_t connections = 64;  // beside event streams
  std::size_t streams = 64;
  // For one stream, beside what is being written, when the loop turns to the next events: its client does not read.
  std::size_t waiting_event_bytes = 1u << 20;
  // The same at any time: what is published in one turn of the loop is written after it.
  std::size_t burst_event_bytes = 64u << 20;
  // From a request's first byte to its last one; also for the first byte of a new connection.
  base::Duration request = std::chrono::seconds(10);
  base::Duration idle = std::chrono::seconds(60);   // between two requests
  base::Duration answer = std::chrono::minutes(5);  // of a handler that answers in parts
  base::Duration write = std::chrono::seconds(30);  // of one whole response, or of the events that were waiting
  // A refused client may still be sending: how long that is read and thrown away, so that the refusal arrives.
  base::Duration linger = std::chrono::seconds(2);
  // Where all connections, or all descriptors of the process, are in use, one that has been idle for so long gives way
  // to a new one.
  base::Duration evictable_after = std::chrono::seconds(1);
  base::Duration heartbeat = std::chrono::seconds(30);  // between comments on event streams
};

}  // namespace esper::http
