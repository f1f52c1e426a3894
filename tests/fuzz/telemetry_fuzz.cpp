// telemetry.jsonl with an earlier file, and lists of names: what `esper telemetry list` and `diff` read. A packet that
// was read is the same after it was written.

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "fuzz/fuzzing.h"
#include "history/telemetry/jsonl_reader.h"
#include "history/telemetry/packet_reader.h"
#include "history/telemetry/telemetry_names.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/json_line.h"
#include "support/temporary_folder.h"

namespace esper::fuzz {
namespace {

using namespace leyline::literals;

enum Form { kRun, kList, kForms };

std::string chosen(Form form) { return {static_cast<char>(form)}; }

std::string line() {
  leyline::TelemetryPacket packet;
  packet.packet_id = "p-1";
  packet.timestamp = "2026-01-01T00:00:00.000000Z";
  packet.source_subsystem = "tolaria";
  packet.metrics.push_back(leyline::metric("tolaria.training.loss"_metric, 0.125));
  packet.metrics.push_back(leyline::metric("tolaria.training.accuracy"_metric, 91.5));
  packet.events.push_back({"evt-1", "tolaria.early_stop", leyline::Level::kInfo, {{"epoch", "3"}}});
  packet.system_health.summary = "a \"word\"\\\n";
  packet.system_health.indicators = {{"epoch", "3"}};
  std::string out;
  nissa::append_json_line(packet, out);
  return out;
}

std::string text_of(const leyline::TelemetryPacket& packet) {
  std::string out;
  nissa::append_json_line(packet, out);
  return out;
}

}  // namespace

std::vector<std::string> seeds() {
  return {chosen(kRun) + part("") + line(),
          chosen(kRun) + part(line()) + line() + line(),
          chosen(kRun) + part("") + line() + line().substr(0, 100),
          chosen(kRun) + part("") + R"({"packet_id": "", "metrics": [], "events": [], "system_health": {}})" + "\n",
          chosen(kList) + R"([{"name": "a", "kind": "event"}])",
          chosen(kList) +
              R"({"names": [{"name": "a.b", "kind": "metric", "unit": "s", "labels": ["x"], "status": "reported"},
            {"name": "c", "kind": "event", "status": "planned: kasmina"},
            {"name": "d", "kind": "event", "status": "does not apply: no"}]})"};
}

namespace {

void check_names(const std::string& source) {
  static const auto kTable = history::names_of_table();
  const auto names = history::read_names(source);
  expect(history::diff_names(names, names).different.empty(), "a list has no difference to itself");
  history::diff_names(names, kTable);
  history::diff_names(kTable, names);
}

void check_run(const test::TemporaryFolder& folder, Input input) {
  const std::string earlier(input.part()), newest(input.rest());
  std::filesystem::remove(folder / "telemetry-000001.jsonl");
  if (!earlier.empty()) write_file(folder / "telemetry-000001.jsonl", earlier);
  write_file(folder / "telemetry.jsonl", newest);
  std::size_t packets = 0;
  const auto report = history::read_jsonl(folder / "telemetry.jsonl", [&](const nlohmann::json& document) {
    ++packets;
    const auto written = text_of(history::packet_from(document));
    expect(text_of(history::packet_from(nlohmann::json::parse(written))) == written,
           "a packet is the same after it was written");
  });
  expect(report.packets == packets && report.damaged.size() <= report.damaged_total, "each packet is counted");
  const auto thin = history::read_jsonl(
      folder / "telemetry.jsonl", [](const nlohmann::json&) {},
      [](std::string_view name) { return name.ends_with("loss"); });
  expect(thin.packets >= packets, "without some metrics no packet is lost");
  history::has_event(folder / "telemetry.jsonl", "tolaria.early_stop");
  check_names(folder.path());
}

void check(const test::TemporaryFolder& folder, Input input) {
  if (input.byte() % kForms == kRun) return check_run(folder, input);
  write_file(folder / "names.json", input.rest());
  check_names(folder / "names.json");
}

}  // namespace
}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const esper::test::TemporaryFolder folder;
  try {
    esper::fuzz::check(folder, {data, size});
  } catch (const esper::base::Error& error) {
    esper::fuzz::expect(error.code() == esper::base::ExitCode::kData, "an error about data");
  }
  return 0;
}
