#include "tolaria/run/outbox.h"

#include <catch2/catch_test_macros.hpp>

#include "base/ledger/span_log.h"
#include "leyline/telemetry/telemetry.h"
#include "support/memory_sink.h"

namespace esper::test::outbox_test {

using tolaria::Outbox;
using tolaria::RunProgress;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

struct Sending {
  RunProgress progress;
  base::Ledger ledger;
  MemorySink sink;
  Outbox outbox{"small-run", base::Clock(), progress, ledger, sink};
};

}  // namespace

TEST_CASE("events between epochs go out in a packet of their own, with the highest level of them") {
  Sending it;
  it.outbox.flush();
  CHECK(it.sink.packets().empty());
  it.outbox.emit(event("tolaria.early_stop"_event, Level::kInfo));
  it.outbox.emit(event("tolaria.diverged"_event, Level::kCritical));
  it.outbox.flush();
  CHECK(it.outbox.waiting().empty());
  const auto packets = it.sink.packets();
  REQUIRE(packets.size() == 1);
  CHECK(packets[0].packet_id == "small-run-step-0-event-1");
  CHECK(packets[0].level == Level::kCritical);
  CHECK(packets[0].events[1].event_id == "evt-1");
  CHECK(packets[0].system_health.summary == "tolaria.diverged");
  CHECK(packets[0].system_health.status == leyline::Health::kDegraded);
}

TEST_CASE("packets are named by where the run stands, and no two alike") {
  Sending it;
  it.progress.epoch = 2;
  it.progress.step = 12;
  for (int i = 0; i < 2; ++i) {
    it.outbox.emit(event("tolaria.early_stop"_event, Level::kInfo));
    it.outbox.flush();
  }
  it.outbox.send(it.outbox.new_packet("kasmina", "epoch-2-seed-0001"));
  const auto packets = it.sink.packets();
  REQUIRE(packets.size() == 3);
  CHECK(packets[0].packet_id == "small-run-step-12-event-1");
  CHECK(packets[1].packet_id == "small-run-step-12-event-2");
  CHECK(packets[2].packet_id == "small-run-epoch-2-seed-0001");
  CHECK(packets[2].source_subsystem == "kasmina");
  CHECK(packets[2].system_health.indicators.at("epoch") == "2");
  CHECK(packets[2].timestamp.ends_with("Z"));
}

TEST_CASE("events go with the packet that takes them, and with no other; the trace has them where one is kept") {
  Sending it;
  it.ledger.watch().keep_spans();
  it.outbox.emit(event("tolaria.early_stop"_event, Level::kInfo));
  auto packet = it.outbox.new_packet("tolaria", "epoch-1");
  CHECK(packet.events.empty());
  it.outbox.move_events_to(packet);
  CHECK(packet.events.size() == 1);
  REQUIRE(it.ledger.watch().spans()->marks.newest().size() == 1);
  CHECK(it.ledger.watch().spans()->marks.newest()[0].name == "tolaria.early_stop");
  it.outbox.flush();
  CHECK(it.sink.packets().empty());
  CHECK(it.outbox.new_event_packet().events.empty());
}

}  // namespace esper::test::outbox_test
