#pragma once
// Looks from a thread of its own whether a run still makes progress: steps, epochs, or a change of phase. A run that
// hangs cannot report it. The run does nothing for it: this thread reads the progress bar's counters, a few times per
// deadline.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "leyline/progress.h"

namespace esper::tolaria {

struct Stall {
  leyline::Phase phase = leyline::Phase::kStarting;
  std::uint32_t epoch = 0;  // the running one, from 1
  std::uint64_t step = 0;   // steps done in it
  base::Duration lasted{};
};

class Watchdog {
 public:
  // Calls on_stall on its thread, once for each stall that lasts as long as `deadline`; 0: never. The display outlives
  // it.
  Watchdog(const leyline::Progress& display, base::Clock clock, base::Duration deadline,
           std::function<void(const Stall&)> on_stall);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void watch(base::Duration deadline);

  const leyline::Progress& display_;
  base::Clock clock_;
  std::function<void(const Stall&)> on_stall_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace esper::tolaria
