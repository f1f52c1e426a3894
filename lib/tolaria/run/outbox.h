#pragma once
// What a run has to report until it is sent: events wait here for the next packet. Training thread.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ledger/ledger.h"
#include "leyline/telemetry_packet.h"
#include "tolaria/run/run_progress.h"

namespace esper::tolaria {

class Outbox {
 public:
  // Packets are named by the run and by where it stands. Borrows the progress, the ledger and the sink.
  Outbox(std::string run_id, base::Clock clock, const RunProgress& progress, base::Ledger& ledger,
         leyline::TelemetrySink& sink)
      : run_id_(std::move(run_id)), clock_(std::move(clock)), progress_(progress), ledger_(ledger), sink_(sink) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // The event goes out with the next packet that takes events.
  void emit(leyline::TelemetryEvent event) { waiting_.push_back(std::move(event)); }
  const std::vector<leyline::TelemetryEvent>& waiting() const { return waiting_; }

  // An empty packet as of now; `what` makes its id unique in the run.
  leyline::TelemetryPacket new_packet(const char* subsystem, const std::string& what) const;
  // A packet that is named for its events, which are those that wait.
  leyline::TelemetryPacket new_event_packet();
  // Moves the waiting events into the packet, and into the trace where one is kept.
  void move_events_to(leyline::TelemetryPacket& packet);
  void send(leyline::TelemetryPacket packet);
  // Sends a packet of the waiting events alone; nothing where none wait.
  void flush();

 private:
  std::string run_id_;
  base::Clock clock_;
  const RunProgress& progress_;
  base::Ledger& ledger_;
  leyline::TelemetrySink& sink_;
  std::vector<leyline::TelemetryEvent> waiting_;
  std::uint64_t event_packets_ = 0;
};

}  // namespace esper::tolaria
