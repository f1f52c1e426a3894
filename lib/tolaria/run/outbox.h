#pragma once
// Telemetry of a run that is not sent yet: events wait here for the next packet. Training thread.

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ledger/ledger.h"
#include "history/black_box/black_box_writer.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tolaria/state/run_progress.h"

namespace esper::tolaria {

class Outbox {
 public:
  // Packets are named after the run and its position. Borrows the progress, the ledger and the sink.
  // black_box: null, or gets each event at once, so that it is known if the process is killed before its packet leaves.
  Outbox(std::string run_id, base::Clock clock, const RunProgress& progress, base::Ledger& ledger,
         leyline::TelemetrySink& sink, history::BlackBoxWriter* black_box = nullptr)
      : run_id_(std::move(run_id)),
        clock_(std::move(clock)),
        progress_(progress),
        ledger_(ledger),
        sink_(sink),
        black_box_(black_box) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Queues the event for the next packet that takes events.
  void emit(leyline::TelemetryEvent event);
  const std::vector<leyline::TelemetryEvent>& waiting() const { return waiting_; }
  // Forgets the events after the first `count` pending ones: of what was given up, and will happen again.
  void keep_first(std::size_t count) { waiting_.resize(std::min(count, waiting_.size())); }

  // An empty packet with the present time; `what` makes its id unique in the run.
  leyline::TelemetryPacket new_packet(const char* subsystem, const std::string& what) const;
  // A packet named after its events, the pending ones.
  leyline::TelemetryPacket new_event_packet();
  // Moves the pending events into the packet, and into the trace if one is kept.
  void move_events_to(leyline::TelemetryPacket& packet);
  void send(leyline::TelemetryPacket packet);
  // Sends a packet with only the pending events; nothing if there are none.
  void flush();

 private:
  std::string run_id_;
  base::Clock clock_;
  const RunProgress& progress_;
  base::Ledger& ledger_;
  leyline::TelemetrySink& sink_;
  history::BlackBoxWriter* black_box_;
  std::vector<leyline::TelemetryEvent> waiting_;
  std::uint64_t event_packets_ = 0;
};

}  // namespace esper::tolaria
