#include "nissa/remaining_time.h"

namespace esper::nissa {

void RemainingTime::start(double done, TimePoint now) {
  if (!start_) start_ = Start{done, now};
}

std::optional<double> RemainingTime::seconds(double done, TimePoint now) const {
  if (!start_ || !(done > start_->done)) return std::nullopt;
  const double elapsed = std::chrono::duration<double>(now - start_->at).count();
  return elapsed * (1 - done) / (done - start_->done);
}

}  // namespace esper::nissa
