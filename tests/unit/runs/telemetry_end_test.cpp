#include "runs/telemetry_end.h"

#include <catch2/catch_test_macros.hpp>

#include "run_room.h"

using namespace esper::runs::test;

namespace esper::runs::telemetry_end_test {

TEST_CASE("the epoch that a run has reached is the one after the newest that it reported, until it is taken up again") {
  const esper::test::TemporaryFolder room;
  const RunFolder run(room / "run");
  const auto reached = [&] {
    OpenFiles files;
    files.push_back(FolderReader(run.path).open("telemetry.jsonl"));
    return read_reached_epoch(files);
  };
  CHECK(reached() == 3);
  auto seed = packet(2, json::array(), json::array(), 2);
  seed["source_subsystem"] = "kasmina";
  run.add_packet(seed);
  CHECK(reached() == 3);
  run.add_packet(packet(5, json::array(), json::array({event("tolaria.resumed", json::object())}), 1));
  CHECK(reached() == 1);
  auto lost = packet(6, json::array(), json::array(), 7);
  lost["source_subsystem"] = "nissa";
  run.add_packet(lost);
  std::ofstream(run.path + "/telemetry.jsonl", std::ios::app) << "no packet\n{\"packet_id\":\"torn";
  CHECK(reached() == 1);
  write_text(run.path + "/telemetry.jsonl", "");
  CHECK_FALSE(reached());
}

}  // namespace esper::runs::telemetry_end_test
