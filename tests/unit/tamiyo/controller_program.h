#pragma once
// Controllers in Python: the one that docs/controller.md shows, and ones that go wrong in its place.

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "leyline/telemetry/telemetry_packet.h"
#include "support/patience.h"
#include "tamiyo/process/process_controller.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo {

inline constexpr char kControllerFolder[] = ESPER_SOURCE_DIR "/configs/policy";

inline ProcessSettings settings_for(std::vector<std::string> command, base::Duration deadline = test::kPatience) {
  ProcessSettings settings;
  settings.command = std::move(command);
  settings.deadline = deadline;
  settings.start_deadline = test::kPatience;
  return settings;
}

inline std::vector<std::string> example() {
  return {"python3", "-B", fmt::format("{}/controller.py", kControllerFolder)};
}

// `body` is indented by four and runs for each question, of which it has `number` and `answer()`, the example's.
// `at_start` runs before the process is ready.
inline std::vector<std::string> going_wrong(const std::string& body, const std::string& at_start = "") {
  const std::string script = fmt::format(
      "import sys; sys.path.insert(0, '{}')\n"
      "import controller, json, os, signal, time\n"
      "{}\n"
      "run = controller.Run()\n"
      "run.lines.readline()\n"
      "run.send('answer', {{'number': 0}})\n"
      "for question in map(json.loads, run.lines):\n"
      "    number = question['number']\n"
      "    def answer(): run.send('answer', {{'number': number, 'reason': f'answer {{number}}'}})\n"
      "    def cull(): run.command('cull', 'CULL', 'seed-0001')\n"
      "{}\n",
      kControllerFolder, at_start, body);
  return {"python3", "-B", "-c", script};
}

// Asked once; what it fails with.
inline std::string failure_of(ProcessController& controller) {
  try {
    controller.decide(DecidedRun().now);
    return "it decided";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

inline std::string failure_of(const std::vector<std::string>& command, base::Duration deadline = test::kPatience) {
  ProcessController controller(settings_for(command, deadline));
  return failure_of(controller);
}

// -1: there is no such metric.
inline double value_of(const std::vector<leyline::MetricValue>& metrics, const std::string& name) {
  const auto found = std::ranges::find(metrics, name, &leyline::MetricValue::name);
  return found == metrics.end() ? -1 : found->value;
}

}  // namespace esper::tamiyo
