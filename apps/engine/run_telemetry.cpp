#include "engine/run_telemetry.h"

#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/text/text_outlet.h"
#include "nissa/console_sink.h"
#include "nissa/jsonl_sink.h"
#include "nissa/log.h"
#include "nissa/telemetry_files.h"

namespace esper::engine {
namespace {

constexpr base::Duration kShutdownDeadline = std::chrono::seconds(5);

nissa::NamedSink jsonl_sink(const config::TelemetryConfig& config, const tolaria::RunFolder& folder) {
  constexpr std::uint64_t kMegabyte = 1 << 20;
  const nissa::TelemetryLimits limits{static_cast<std::uint64_t>(config.segment_mb) * kMegabyte,
                                      static_cast<std::uint64_t>(config.limit_mb) * kMegabyte};
  return {"jsonl", std::make_unique<nissa::JsonlSink>(folder.telemetry(), nissa::JsonlSink::Target::kRegularFile,
                                                      nissa::JsonlSink::kWriteDeadline, limits)};
}

nissa::NamedSink console_sink(const config::TelemetryConfig& config,
                              const std::shared_ptr<leyline::Progress>& display) {
  const auto style =
      config.console == config::ConsoleMode::kPlain ? nissa::ConsoleStyle::kPlain : nissa::console_style(STDERR_FILENO);
  return {"console", std::make_unique<nissa::ConsoleSink>(display, base::standard_error(), style)};
}

std::unique_ptr<nissa::Hub> make_hub(const config::TelemetryConfig& config, const tolaria::RunFolder& folder,
                                     const std::shared_ptr<leyline::Progress>& display, Console console) {
  std::vector<nissa::NamedSink> sinks;
  if (config.jsonl) sinks.push_back(jsonl_sink(config, folder));
  if (console == Console::kAsConfigured && config.console != config::ConsoleMode::kNone) {
    sinks.push_back(console_sink(config, display));
  }
  return std::make_unique<nissa::Hub>(static_cast<std::size_t>(config.queue), std::move(sinks));
}

}  // namespace

RunTelemetry::RunTelemetry(const config::RunConfig& config, const tolaria::RunFolder& folder, Console console)
    : display_(std::make_shared<leyline::Progress>()), hub_(make_hub(config.telemetry, folder, display_, console)) {}

void RunTelemetry::close() {
  hub_->shutdown(kShutdownDeadline);
  for (const auto& sink : hub_->counts()) {
    if (sink.lost() == 0) continue;
    nissa::log::warning(fmt::format("telemetry sink {}: {} of {} packets were lost", sink.name, sink.lost(),
                                    sink.delivered + sink.dropped));
  }
}

nlohmann::ordered_json RunTelemetry::counts() const {
  auto counts = nlohmann::ordered_json::object();
  for (const auto& sink : hub_->counts()) {
    counts[sink.name] = {{"delivered", sink.delivered - sink.errors}, {"lost", sink.lost()}};
  }
  return counts;
}

}  // namespace esper::engine
