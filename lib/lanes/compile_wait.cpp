#include "lanes/compile_wait.h"

#include "base/interrupt.h"
#include "base/names.h"
#include "leyline/telemetry.h"

namespace esper::lanes {

using base::Interrupt;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

constexpr base::Duration kLookForSignals = std::chrono::milliseconds(100);
constexpr base::Duration kFirstReport = std::chrono::seconds(5), kBetweenReports = std::chrono::seconds(15);

void report_waiting(const RunnerServices& services, const std::string& key, base::Duration waited) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  services.tell(event("tolaria.compile_waiting"_event, Level::kInfo,
                      {{"key", key},
                       {"waits_for", std::string(base::name_of(services.desk->stage()))},
                       {"waited_s", std::to_string(seconds)}}));
  if (services.send) services.send();
}

}  // namespace

leyline::TelemetryEvent compile_finished(const program::CompileOutcome& outcome) {
  return event("tolaria.compile_finished"_event, Level::kInfo,
               {{"key", outcome.key},
                {"compile_ms", std::to_string(static_cast<std::int64_t>(outcome.compile_ms))},
                {"recipe", outcome.recipe},
                {"compiled_by", outcome.by_other_process ? "another process" : "this run"}});
}

CompileWait wait_for_program(const RunnerServices& services, const std::string& key) {
  const auto begin = services.clock.now(), end = begin + services.desk->longest_wait();
  auto next_report = begin + kFirstReport;
  while (services.clock.now() < end) {
    auto outcome = services.desk->wait(key, kLookForSignals);
    if (outcome && !was_cancelled(*outcome)) return {CompileWait::End::kOutcome, std::move(outcome)};
    if (Interrupt::requested() != 0) return {CompileWait::End::kInterrupted};
    const auto now = services.clock.now();
    if (now < next_report) continue;
    report_waiting(services, key, now - begin);
    next_report += kBetweenReports;
  }
  return {CompileWait::End::kLate};
}

}  // namespace esper::lanes
