#include "tolaria/safety/emergency.h"

#include <fmt/core.h>

#include <utility>

#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

std::optional<SharedSignal> open_signal(const std::string& name, std::size_t bytes, Outbox& outbox) {
  if (name.empty()) return std::nullopt;
  auto opened = SharedSignal::open(name, bytes);
  if (opened) return std::move(*opened);
  outbox.emit(event("tolaria.signal_failed"_event, Level::kWarning, {{"reason", opened.error()}}));
  return std::nullopt;
}

}  // namespace

Emergency::Emergency(const config::EmergencyConfig& config, base::Clock clock, Outbox& outbox)
    : config_(config),
      clock_(std::move(clock)),
      outbox_(outbox),
      signal_(open_signal(config.signal_name, kEmergencySignalBytes, outbox)),
      rollback_signal_(open_signal(config.rollback_signal_name, kRollbackSignalBytes, outbox)) {}

void Emergency::raise(EmergencyLevel level, std::int64_t streak, const std::string& reason) {
  if (level <= level_) return;
  level_ = level;
  reason_ = reason;
  const auto number = std::to_string(static_cast<int>(level));
  outbox_.emit(event("tolaria.emergency.escalated"_event, Level::kWarning,
                     {{"level", number}, {"reason", reason}, {"streak", std::to_string(streak)}}));
  if (signal_) signal_->show_emergency(static_cast<std::uint8_t>(level), clock_.now(), reason);
  if (level != EmergencyLevel::kHalt) return;
  ++figures_.halts;
  outbox_.emit(event("tolaria.emergency.halt"_event, Level::kCritical,
                     {{"level", number}, {"reason", reason}, {"streak", std::to_string(streak)}}));
}

void Emergency::fail_epoch(std::int64_t streak, const std::string& reason) {
  const bool halts = config_.failed_epochs > 0 && streak >= config_.failed_epochs;
  raise(halts ? EmergencyLevel::kHalt : EmergencyLevel::kElevated, streak, reason);
}

void Emergency::late_rollback(double latency_ms, std::int64_t streak) {
  if (rollback_signal_) rollback_signal_->show_rollback(clock_.now());
  raise(config_.halt_on_late_rollback ? EmergencyLevel::kHalt : EmergencyLevel::kElevated, streak,
        fmt::format("a rollback took {:.0f} ms, longer than safety.rollback_deadline", latency_ms));
}

void Emergency::end_good_epoch(EmergencyLevel remaining) {
  if (level_ <= remaining || is_halted()) return;
  level_ = remaining;
  if (remaining != EmergencyLevel::kNone) return;
  reason_.clear();
  if (signal_) signal_->clear();
  if (rollback_signal_) rollback_signal_->clear();
}

}  // namespace esper::tolaria
