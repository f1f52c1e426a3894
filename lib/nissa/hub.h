#pragma once
// Where all telemetry goes: to each sink through a bounded queue and its own worker thread, so that no sink waits
// for another.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/quantity.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper::nissa {

struct NamedSink {
  std::string name;  // for messages and counts: "jsonl", "console"
  std::unique_ptr<leyline::TelemetrySink> sink;
};

enum class Delivery {
  kComplete,  // every packet that was accepted has been handed to its sink
  kLate,      // the deadline passed first
};

struct SinkCounts {
  std::string name;
  std::uint64_t delivered = 0;  // packets handed to the sink, those that it failed on included
  std::uint64_t dropped = 0;    // packets that never reached it: queue full, hub closed, or too late at shutdown
  std::uint64_t errors = 0;     // packets that it could not deliver

  std::uint64_t lost() const { return dropped + errors; }
  bool operator==(const SinkCounts&) const = default;
};

// Losses are reported by telemetry itself: where a sink's dropped or errors have changed, the next packet to each sink
// carries nissa.packets_total, nissa.dropped_total and nissa.sink_errors_total for it; shutdown sends a packet of its
// own for what is still unreported.
// The worker threads take no signals, so a sink that writes to a closed pipe gets EPIPE instead of ending the process.
class Hub final : public leyline::TelemetrySink {
 public:
  // capacity: packets that may wait for one sink, besides the one being delivered.
  Hub(std::size_t capacity, std::vector<NamedSink> sinks);
  // As shutdown(kShutdownDeadline) where that was not called.
  ~Hub() override;
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Any thread. Copies the packet once; never waits for a sink and never throws.
  void emit(const leyline::TelemetryPacket& packet) override;
  // Waits until what was accepted before the call is delivered, at most for deadline.
  Delivery flush(base::Duration deadline);
  // Takes no more packets, delivers what waits, destroys the sinks and ends the workers. What a sink has not got at the
  // deadline is counted as dropped, and its worker is left to itself: it shares nothing with the hub's owner and ends
  // when its sink returns. The others then have kLastWord for their report of it. A second call does nothing. Owner's
  // thread only.
  Delivery shutdown(base::Duration deadline);
  // In the order of the sinks.
  std::vector<SinkCounts> counts() const;

  static constexpr base::Duration kShutdownDeadline = std::chrono::seconds(2);
  static constexpr base::Duration kLastWord = std::chrono::seconds(1);

 private:
  struct State;
  using Counts = std::vector<SinkCounts>;
  // none: counts that are all 0.
  static void work(const std::shared_ptr<State>& state, std::size_t lane, NamedSink named, Counts none);
  void end_lanes_without_worker();

  std::shared_ptr<State> state_;
  std::vector<std::thread> workers_;        // empty after shutdown
  Delivery outcome_ = Delivery::kComplete;  // of shutdown
};

}  // namespace esper::nissa
