#include "lanes/shape/compile_queue.h"

#include <fmt/core.h>

#include "base/interrupt.h"
#include "base/names.h"
#include "base/signal_point.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::lanes {
namespace {

using leyline::event;
using leyline::Level;
using program::CompileOutcome;
using namespace leyline::literals;

constexpr base::Duration kLookForSignals = std::chrono::milliseconds(100);
constexpr base::Duration kFirstReport = std::chrono::seconds(5), kBetweenReports = std::chrono::seconds(15);

// An outcome of an earlier request for the same program, cancelled with its structure.
bool was_cancelled(const CompileOutcome& outcome) { return outcome.failure == program::CompileFailure::kCancelled; }

void report_waiting(const LaneServices& services, const std::string& key, base::Duration waited) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited).count();
  services.emit(event("tolaria.compile_waiting"_event, Level::kInfo,
                      {{"key", key},
                       {"waits_for", std::string(base::name_of(services.compile_service->stage()))},
                       {"waited_s", std::to_string(seconds)}}));
  if (services.send) services.send();
}

CompileWait wait_for(const LaneServices& services, const std::string& key) {
  const auto begin = services.clock.now(), end = begin + services.compile_service->longest_wait();
  auto next_report = begin + kFirstReport;
  while (services.clock.now() < end) {
    auto outcome = services.compile_service->wait(key, kLookForSignals);
    if (outcome && !was_cancelled(*outcome)) return {CompileWait::End::kOutcome, std::move(outcome)};
    if (base::Interrupt::requested() != 0) return {CompileWait::End::kInterrupted};
    const auto now = services.clock.now();
    if (now < next_report) continue;
    report_waiting(services, key, now - begin);
    next_report += kBetweenReports;
  }
  return {CompileWait::End::kLate};
}

}  // namespace

void CompileQueue::submit(const program::SymbolicProgram& program, const Variant& variant) {
  services_.compile_service->submit(program, variant.recipe, variant.effort);
  ++figures_.pending;
  services_.emit(event("tolaria.compile_started"_event, Level::kInfo,
                       {{"key", variant.key}, {"operators", std::to_string(program.program.operations.size())}}));
}

// Ends the bookkeeping of an outcome that the caller takes over.
void CompileQueue::finish(const CompileOutcome& outcome) {
  --figures_.pending;
  if (const auto& files = outcome.not_used; !files.empty()) {
    figures_.quarantined += static_cast<std::int64_t>(files.size());
    services_.emit(
        event("tolaria.compile_runtime_fallback"_event, Level::kWarning,
              {{"error", fmt::format("{} files of earlier compilations were recreated: their authentication code is "
                                     "invalid, so they are damaged or were made with another key; the first is {}",
                                     files.size(), files.front())}}));
  }
  if (outcome.failure) return;
  figures_.compile_ms = outcome.compile_ms;
  services_.emit(event("tolaria.compile_finished"_event, Level::kInfo,
                       {{"key", outcome.key},
                        {"compile_ms", std::to_string(static_cast<std::int64_t>(outcome.compile_ms))},
                        {"recipe", outcome.recipe},
                        {"compiled_by", outcome.by_other_process ? "another process" : "this run"}}));
}

bool CompileQueue::start(const program::SymbolicProgram& program, const Variant& variant) {
  if (precompilation_ && precompilation_->variant.key == variant.key) {
    precompilation_.reset();
    return false;
  }
  withdraw_precompilation();
  submit(program, variant);
  return true;
}

std::optional<CompileOutcome> CompileQueue::poll(const std::string& key) {
  auto outcome = services_.compile_service->poll(key);
  if (!outcome || was_cancelled(*outcome)) return std::nullopt;
  finish(*outcome);
  return outcome;
}

CompileWait CompileQueue::wait(const std::string& key) {
  base::fault::signal_point("tolaria.compiling");
  CompileWait wait = wait_for(services_, key);
  if (wait.outcome) {
    finish(*wait.outcome);
  } else {
    give_up(key);
  }
  return wait;
}

void CompileQueue::give_up(const std::string& key) {
  services_.compile_service->cancel(key);
  --figures_.pending;
}

bool CompileQueue::precompile(const program::SymbolicProgram& program, Precompilation wanted) {
  if (precompilation_) return false;
  submit(program, wanted.variant);
  precompilation_ = std::move(wanted);
  return true;
}

std::optional<std::pair<Precompilation, CompileOutcome>> CompileQueue::poll_precompilation() {
  if (!precompilation_) return std::nullopt;
  auto outcome = poll(precompilation_->variant.key);
  if (!outcome) return std::nullopt;
  return std::pair{*std::exchange(precompilation_, std::nullopt), std::move(*outcome)};
}

std::optional<Variant> CompileQueue::take_over(const std::string& structure, const std::string& shape) {
  if (!precompilation_ || precompilation_->structure != structure || precompilation_->shape != shape)
    return std::nullopt;
  return std::exchange(precompilation_, std::nullopt)->variant;
}

void CompileQueue::withdraw_precompilation() {
  if (!precompilation_) return;
  give_up(precompilation_->variant.key);
  precompilation_.reset();
}

}  // namespace esper::lanes
