#include "program/cache/change_lock.h"

#include <utility>

namespace esper::program {
namespace {

constexpr base::Duration kChangeLockPoll = std::chrono::milliseconds(2);

}  // namespace

std::optional<ChangeLock::Held> ChangeLock::take() {
  std::unique_lock threads(mutex_, std::defer_lock);
  const auto deadline = clock_.now() + deadline_;
  for (;;) {
    if (threads.owns_lock() || threads.try_lock()) {
      if (auto processes = files_.try_lock(path_)) return Held{std::move(threads), std::move(*processes)};
    }
    if (clock_.now() >= deadline) return std::nullopt;
    clock_.sleep(kChangeLockPoll);
  }
}

}  // namespace esper::program
