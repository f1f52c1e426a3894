#include <algorithm>

#include "esper/front.h"
#include "esper/run_options.h"
#include "leyline/telemetry/telemetry.h"

namespace esper {
namespace {

std::string as_text() {
  std::size_t width = 0;
  for (const leyline::TelemetryEntry& entry : leyline::kTelemetryTable) width = std::max(width, entry.name.size());
  std::string text;
  for (const leyline::TelemetryEntry& entry : leyline::kTelemetryTable) {
    text += entry.name;
    text.append(width + 2 - entry.name.size(), ' ');
    text += entry.help;
    if (entry.unit != "event" && !entry.unit.empty()) text.append(" [").append(entry.unit).append("]");
    text += "\n";
  }
  return text;
}

}  // namespace

void add_telemetry_list(CLI::App& telemetry, Front& front) {
  CLI::App* command = add_command(telemetry, "list", "Print every metric and event that a run can report",
                                  "esper telemetry list --json");
  struct Options {
    bool markdown = false, json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::Option* markdown = command->add_flag("--markdown", options->markdown, "Print docs/telemetry.md instead");
  command->add_flag("--json", options->json, "Print JSON, including errors")->excludes(markdown);
  command->callback([&front, options] {
    front.run = [options] {
      print(options->markdown ? leyline::telemetry_markdown() : options->json ? leyline::telemetry_json() : as_text());
      return 0;
    };
  });
}

}  // namespace esper
