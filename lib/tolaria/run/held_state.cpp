#include "tolaria/run/held_state.h"

#include <utility>

namespace esper::tolaria {

void HeldState::hold(std::size_t events) {
  saver_.hold();
  held_ = {progress_, events};
}

void HeldState::hold_restored(const RunProgress& restored) {
  if (!held_) return;
  progress_ = restored;
  saver_.hold();
  std::swap(progress_, held_->progress);
}

void HeldState::let_go() {
  saver_.release();
  held_.reset();
}

void HeldState::go_back() {
  if (!held_) return;
  progress_ = std::move(held_->progress);
  outbox_.keep_first(held_->events);
  held_.reset();
}

}  // namespace esper::tolaria
