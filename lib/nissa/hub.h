#pragma once
// Where all telemetry goes: a bounded queue, and one worker thread that hands each packet to each sink, in order.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leyline/quantity.h"
#include "leyline/telemetry_packet.h"

namespace esper::nissa {

struct NamedSink {
  std::string name;  // for messages: "jsonl", "console"
  std::unique_ptr<leyline::TelemetrySink> sink;
};

enum class Delivery {
  kComplete,  // every packet that was accepted has been handed to every sink
  kLate,      // the deadline came first
};

struct HubCounts {
  std::uint64_t delivered = 0;    // packets handed to the sinks
  std::uint64_t dropped = 0;      // packets that reached no sink: queue full, hub closed, or too late at shutdown
  std::uint64_t sink_errors = 0;  // packets that one sink could not deliver, summed over the sinks
};

// Losses are reported by telemetry itself: the next packet that gets through carries nissa.packets_total,
// nissa.dropped_total and nissa.sink_errors_total when one of the last two has changed; shutdown sends a packet of its
// own for what is still unreported.
// The worker thread takes no signals, so a sink that writes to a closed pipe gets EPIPE instead of ending the process.
class Hub final : public leyline::TelemetrySink {
 public:
  // capacity: packets that may wait, besides the one being delivered. Sinks are served in the order given: one that can
  // be slow goes last.
  Hub(std::size_t capacity, std::vector<NamedSink> sinks);
  // As shutdown(kShutdownDeadline) where that was not called.
  ~Hub() override;
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Any thread. Copies the packet; never waits for a sink and never throws.
  void emit(const leyline::TelemetryPacket& packet) override;
  // Waits until what was accepted before the call is delivered, at most for deadline.
  Delivery flush(leyline::Duration deadline);
  // Takes no more packets, delivers what waits, destroys the sinks and ends the worker. When the deadline comes first,
  // the waiting packets are dropped and the worker is left to itself: it shares nothing with the hub's owner and ends
  // when its sink returns. A second call does nothing. Owner's thread only.
  Delivery shutdown(leyline::Duration deadline);
  HubCounts counts() const;

  static constexpr leyline::Duration kShutdownDeadline = std::chrono::seconds(2);

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state, std::vector<NamedSink> named);

  std::shared_ptr<State> state_;
  std::thread worker_;
  Delivery outcome_ = Delivery::kComplete;  // of shutdown
};

}  // namespace esper::nissa
