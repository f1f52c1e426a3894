#include "esper/queue/telemetry_follower.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"
#include "support/comes_true.h"
#include "support/temporary_folder.h"

namespace esper::test::telemetry_follower_test {

using namespace esper;
using namespace esper::leyline::literals;
using namespace std::chrono_literals;

namespace {

std::string epoch_packet(int epoch) {
  leyline::TelemetryPacket packet;
  packet.packet_id = std::to_string(epoch);
  packet.metrics.push_back(leyline::metric("tolaria.training.loss"_metric, 0.5));
  packet.system_health.indicators["epoch"] = std::to_string(epoch);
  std::string line;
  nissa::append_json_line(packet, line);
  return line;
}

struct Run {
  test::TemporaryFolder folder;
  std::string path = folder / "telemetry.jsonl";
  TelemetryFollower tail{std::filesystem::path(path).parent_path().string()};

  void write(const std::string& text) const { std::ofstream(path, std::ios::app) << text; }
  std::string read() {
    std::string ids;
    tail.read([&](const leyline::TelemetryPacket& packet) { ids += packet.packet_id + " "; });
    return ids;
  }
};

}  // namespace

TEST_CASE("what a run wrote before is its newest epoch, then comes all that it writes") {
  Run run;
  CHECK(run.read().empty());
  Run later;
  later.write(epoch_packet(1) + epoch_packet(2) + epoch_packet(3));
  CHECK(later.read() == "3 ");
  later.write(epoch_packet(4) + epoch_packet(5).substr(0, 30));
  CHECK(later.read() == "4 ");
  later.write(epoch_packet(5).substr(30));
  CHECK(later.read() == "5 ");
  later.write("no packet\n{}\n" + epoch_packet(6));
  CHECK(later.read() == " 6 ");
  CHECK(later.read().empty());
}

TEST_CASE("a file that is replaced is read to its end, then the next one") {
  Run run;
  run.write(epoch_packet(1));
  CHECK(run.read() == "1 ");
  run.write(epoch_packet(2));
  std::filesystem::rename(run.path, run.folder / "telemetry-000001.jsonl");
  run.write(epoch_packet(3));
  CHECK(run.read() == "2 3 ");
}

TEST_CASE("what comes between a read and the wait after it is not waited for") {
  Run run;
  run.write(epoch_packet(1));
  CHECK(run.read() == "1 ");
  run.write(epoch_packet(2));
  CHECK(run.tail.wait(-1, 0s));
  CHECK(run.read() == "2 ");
  CHECK(!run.tail.wait(-1, 0s));
  run.write(epoch_packet(3));
  CHECK(run.tail.wait(-1, 10s));
  CHECK(run.read() == "3 ");
}

TEST_CASE("a run folder that is made again is followed again") {
  Run run;
  const auto run_dir = std::filesystem::path(run.path).parent_path();
  run.write(epoch_packet(1));
  CHECK(run.read() == "1 ");
  CHECK(run.tail.wait(-1, 0s));
  std::filesystem::remove_all(run_dir);
  CHECK(run.tail.wait(-1, 10s));
  const bool is_quiet = comes_true([&] {
    CHECK(run.read().empty());
    return !run.tail.wait(-1, 0s);
  });
  REQUIRE(is_quiet);
  std::filesystem::create_directories(run_dir);
  run.write(epoch_packet(2));
  CHECK(run.tail.wait(-1, 10s));
  CHECK(run.read() == "2 ");
  run.write(epoch_packet(3));
  CHECK(run.tail.wait(-1, 10s));
  CHECK(run.read() == "3 ");
}

TEST_CASE("of a large file only the end is read") {
  Run run;
  for (int i = 0; i < 5000; ++i) run.write(std::string(400, ' ') + epoch_packet(i));
  CHECK(run.read() == "4999 ");
}

}  // namespace esper::test::telemetry_follower_test
