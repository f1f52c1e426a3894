#include "nissa/json_line.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "leyline/telemetry/telemetry.h"

namespace esper::test::json_line_test {

using namespace esper;
using namespace esper::leyline::literals;
using leyline::TelemetryPacket;
using nlohmann::json;

namespace {

std::string json_line(const TelemetryPacket& packet) {
  std::string out;
  nissa::append_json_line(packet, out);
  return out;
}

// The summary of a packet that has this text in it, as an independent parser reads it back.
std::string through_json(const std::string& text) {
  TelemetryPacket packet;
  packet.system_health.summary = text;
  return json::parse(json_line(packet)).at("system_health").at("summary");
}

// The same text through an independent writer and its replacement of invalid UTF-8.
std::string through_nlohmann(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

TEST_CASE("a packet is one line with the contract's keys") {
  TelemetryPacket packet;
  packet.packet_id = "digits-epoch-3";
  packet.timestamp = "2026-01-31T08:09:10.000042Z";
  packet.source_subsystem = "tolaria";
  packet.metrics.push_back(metric("tolaria.training.loss"_metric, 0.1));
  packet.metrics.push_back(
      metric("kasmina.seed.alpha"_metric, 1, {{"seed_id", "seed-0001"}, {"stage", "PROBATIONARY"}}));
  packet.events.push_back(event("gate_failure"_event, leyline::Level::kWarning, {{"gate", "G5"}}));
  finish_packet(packet, 3);
  CHECK(json_line(packet) ==
        R"({"packet_id":"digits-epoch-3","timestamp":"2026-01-31T08:09:10.000042Z","source_subsystem":"tolaria",)"
        R"("level":"WARNING","metrics":[{"name":"tolaria.training.loss","value":0.1,"unit":"loss","attributes":{}},)"
        R"({"name":"kasmina.seed.alpha","value":1,"unit":"ratio","attributes":{"seed_id":"seed-0001",)"
        R"("stage":"PROBATIONARY"}}],"events":[{"event_id":"evt-0","description":"gate_failure","level":"WARNING",)"
        R"("attributes":{"gate":"G5"}}],"system_health":{"status":"DEGRADED","summary":"gate_failure",)"
        R"("indicators":{"epoch":"3","priority":"MESSAGE_PRIORITY_HIGH"}}})"
        "\n");
}

TEST_CASE("nothing in a line can steer the terminal of whoever reads the file, and the text comes back whole") {
  const std::string text =
      "a\x1b[2J\x7f\xC2\x9b"
      "2J\xE2\x80\xAE"
      "b \xC3\xA9";
  TelemetryPacket packet;
  packet.system_health.summary = text;
  CHECK(json_line(packet).find(R"("summary":"a\u001b[2J\u007f\u009b2J\u202eb é")") != std::string::npos);
  CHECK(through_json(text) == text);
}

TEST_CASE("an empty packet is whole JSON") {
  const auto read = json::parse(json_line({}));
  CHECK(read.at("metrics") == json::array());
  CHECK(read.at("events") == json::array());
  CHECK(read.at("system_health").at("status") == "HEALTHY");
}

TEST_CASE("text survives as itself") {
  std::string all_control;
  for (int c = 0; c < 0x20; ++c) all_control += static_cast<char>(c);
  for (const std::string& text :
       {std::string("plain"), std::string("\"quoted\" and \\ back"), all_control, std::string("\x7f"),
        std::string("\u00e9\u20ac\U0001F600\U0010FFFF"), std::string("\u2028\u2029"), std::string("a\0b", 3)}) {
    CHECK(through_json(text) == text);
  }
}

TEST_CASE("invalid UTF-8 is replaced as nlohmann replaces it") {
  for (const char* text :
       {"\x80", "a\xff", "\xc0\xaf", "\xc2", "\xe2\x82", "\xe2\x82z", "\xed\xa0\x80", "\xf0\x9f\x98",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xc3\"", "\xf0\x9f\n"}) {
    CHECK(through_json(text) == through_nlohmann(text));
    CHECK(through_json(text).find("\xEF\xBF\xBD") != std::string::npos);
  }
}

TEST_CASE("random bytes never break the line") {
  std::mt19937 random(1337);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 24, ' ');
    for (auto& c : text)
      c = static_cast<char>(random() % 4 == 0 ? "\xe2\x82\xac\xf0\"\\\n\x80"[random() % 8] : random());
    CHECK(through_json(text) == through_nlohmann(text));
  }
}

TEST_CASE("hostile text in every place is read back") {
  const std::string hostile = "\"},\n{\\\x01";
  TelemetryPacket packet;
  packet.packet_id = packet.timestamp = packet.source_subsystem = hostile;
  packet.metrics.push_back({hostile, 1, hostile, {{hostile, hostile}}});
  packet.events.push_back({hostile, hostile, leyline::Level::kError, {{hostile, hostile}}});
  packet.system_health = {leyline::Health::kCritical, hostile, {{hostile, hostile}}};
  const auto line = json_line(packet);
  CHECK(line.find('\n') == line.size() - 1);
  const auto read = json::parse(line);
  CHECK(read.at("packet_id") == hostile);
  CHECK(read.at("metrics")[0].at("name") == hostile);
  CHECK(read.at("metrics")[0].at("attributes").at(hostile) == hostile);
  CHECK(read.at("events")[0].at("attributes").at(hostile) == hostile);
  CHECK(read.at("system_health").at("indicators").at(hostile) == hostile);
}

TEST_CASE("numbers read back as the same double; what is not finite is null") {
  using Limits = std::numeric_limits<double>;
  const auto value_through_json = [](double value) {
    TelemetryPacket packet;
    packet.metrics.push_back(metric("tolaria.training.loss"_metric, value));
    return json::parse(json_line(packet)).at("metrics")[0].at("value");
  };
  for (const double value : {0.0, -0.0, 1.0, 0.1, 1.0 / 3, 1e-300, 1e300, -2.5e-7, Limits::max(), Limits::min(),
                             Limits::denorm_min(), 123456789012345678.0}) {
    CHECK(value_through_json(value).get<double>() == value);
  }
  CHECK(value_through_json(Limits::infinity()).is_null());
  CHECK(value_through_json(-Limits::infinity()).is_null());
  CHECK(value_through_json(Limits::quiet_NaN()).is_null());
}

}  // namespace esper::test::json_line_test
