// The files of a run folder that `esper runs list` reads: config.yaml, summary.json, the journal and telemetry.jsonl.
// Whatever they hold makes a record, and the same one again. A configuration that was accepted has its hash and its
// fields in the text that a run keeps.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/json_struct.h"
#include "config/loading/load.h"
#include "config/writing/write.h"
#include "fuzz/fuzzing.h"
#include "runs/config_text.h"
#include "runs/read_run_record.h"
#include "support/temporary_folder.h"

namespace esper::fuzz {
namespace {

constexpr char kSummary[] = R"({"status": "done", "reason": "", "version": "0.1.0", "epochs": 3, "wall_s": 1.5,
 "validation": {"epoch": 3, "loss": 0.5, "accuracy": 91.5}, "best": {"epoch": 2, "loss": 0.25},
 "seeds": [{"id": "a\"}"}], "ledger": {"until": "2026-01-01T00:00:03.000Z", "rows": [[1, 2], {}]}})";
constexpr char kPacket[] =
    R"({"packet_id":"p-1","timestamp":"2026-01-01T00:00:00.000000Z","metrics":[],"events":[{"event_id":"evt-1","description":"tolaria.run_started","attributes":{"version":"0.1.0"}}]})"
    "\n";

}  // namespace

std::vector<std::string> seeds() {
  config::RunConfig config;
  config.host.hidden = {8, 16};
  const std::string yaml = config::resolved_yaml(config);
  return {part(yaml) + part(kSummary) + part("") + kPacket, part(yaml) + part("") + part("") + kPacket + kPacket,
          part(yaml) + part("{}") + part("{\"format\": 1}\n") + "{"};
}

namespace {

void check_config(const std::string& text) {
  const auto loaded = config::read_run_config_text(text, "f", {}, config::DocumentKind::kOfRun);
  if (!loaded.problems.empty()) return;
  const auto kept = runs::ConfigText::read(config::resolved_yaml(loaded.config));
  expect(kept.has_value(), "what a run keeps of its configuration is read");
  expect(kept->hash() == fmt::format("{:016x}", config::config_hash(loaded.config)), "the hash is the configuration's");
  expect(kept->text_of("name") == loaded.config.name, "the name is the configuration's");
  expect(kept->value_of("epochs") == fmt::format("{}", loaded.config.epochs), "the epochs are the configuration's");
}

void check(const test::TemporaryFolder& folder, Input input) {
  const std::string config(input.part()), summary(input.part()), journal(input.part());
  write_file(folder / "config.yaml", config);
  write_file(folder / "summary.json", summary);
  write_file(folder / "journal", journal);
  write_file(folder / "telemetry.jsonl", input.rest());
  const std::string path = folder.path();
  const auto record = base::to_json(runs::read_run_record(path));
  expect(base::to_json(runs::read_run_record(path)) == record, "a folder that nobody writes has one record");
  check_config(config);
}

}  // namespace
}  // namespace esper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const esper::test::TemporaryFolder folder;
  esper::fuzz::check(folder, {data, size});
  return 0;
}
