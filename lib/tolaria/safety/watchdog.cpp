#include "tolaria/safety/watchdog.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/signal_scope.h"

namespace esper::tolaria {
namespace {

constexpr int kLooksPerDeadline = 4;

Stall place_of(const leyline::Progress& display) {
  return {display.phase.load(std::memory_order_relaxed),
          display.epoch.load(std::memory_order_relaxed),
          display.step.load(std::memory_order_relaxed),
          {}};
}

bool is_same_place(const Stall& a, const Stall& b) {
  return a.phase == b.phase && a.epoch == b.epoch && a.step == b.step;
}

}  // namespace

Watchdog::Watchdog(const leyline::Progress& display, base::Clock clock, base::Duration deadline,
                   std::function<void(const Stall&)> on_stall)
    : display_(display), clock_(std::move(clock)), on_stall_(std::move(on_stall)) {
  if (deadline > base::Duration(0)) thread_ = std::thread([this, deadline] { watch(deadline); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void Watchdog::watch(base::Duration deadline) {
  const auto pause = std::max<base::Duration>(deadline / kLooksPerDeadline, std::chrono::milliseconds(1));
  Stall last = place_of(display_);
  auto since = clock_.now();
  bool is_reported = false;
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, pause, [&] { return is_stopping_; })) {
    const Stall place = place_of(display_);
    if (!is_same_place(place, last)) {
      last = place;
      since = clock_.now();
      is_reported = false;
      continue;
    }
    const auto lasted = clock_.now() - since;
    if (is_reported || lasted < deadline || place.phase == leyline::Phase::kDone) continue;
    is_reported = true;
    lock.unlock();
    on_stall_({place.phase, place.epoch, place.step, lasted});
    lock.lock();
  }
}

}  // namespace esper::tolaria
