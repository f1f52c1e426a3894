#include "tolaria/run/outbox.h"

#include <fmt/core.h>

#include "base/ledger/span_log.h"
#include "base/parse_number.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::TelemetryPacket;

namespace {

// Where it happened is in fields of the record.
std::string text_of(const leyline::TelemetryEvent& event) {
  std::string text(event.description);
  for (const auto& [key, value] : event.attributes) {
    if (key != "epoch" && key != "step") text.append(" ").append(key).append("=").append(value);
  }
  return text;
}

// As the event says it: what it is about may lie before or after where the run is now.
std::int64_t step_of(const leyline::TelemetryEvent& event, std::int64_t otherwise) {
  const auto found = event.attributes.find("step");
  if (found == event.attributes.end()) return otherwise;
  return base::parse_number<std::int64_t>(found->second).value_or(otherwise);
}

}  // namespace

void Outbox::emit(leyline::TelemetryEvent event) {
  if (black_box_ != nullptr) {
    history::BlackBoxRecord record = history::black_box_event(text_of(event));
    record.step = step_of(event, progress_.step);
    record.epoch = progress_.trained_epoch();
    record.wall_ns = clock_.wall().count();
    black_box_->add(record);
  }
  waiting_.push_back(std::move(event));
}

TelemetryPacket Outbox::new_packet(const char* subsystem, const std::string& what) const {
  TelemetryPacket packet;
  packet.packet_id = run_id_ + "-" + what;
  packet.timestamp = base::rfc3339(clock_.wall());
  packet.source_subsystem = subsystem;
  return packet;
}

TelemetryPacket Outbox::new_event_packet() {
  auto packet = new_packet("tolaria", fmt::format("step-{}-event-{}", progress_.step, ++event_packets_));
  move_events_to(packet);
  return packet;
}

void Outbox::move_events_to(TelemetryPacket& packet) {
  if (auto* log = ledger_.watch().spans()) {
    for (const auto& event : waiting_) {
      log->marks.add({ledger_.now(), std::string(event.description), event.attributes, {}});
    }
  }
  packet.events = std::exchange(waiting_, {});
}

void Outbox::send(TelemetryPacket packet) {
  leyline::finish_packet(packet, progress_.epoch);
  sink_.emit(packet);
}

void Outbox::flush() {
  if (waiting_.empty()) return;
  const base::LedgerScope reporting(ledger_, base::Owner::kTelemetry);
  send(new_event_packet());
}

}  // namespace esper::tolaria
