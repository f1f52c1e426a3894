#pragma once
// How long a run still takes, from what it has done since it was first looked at: a resumed run does not begin at zero.
// Not for several threads at once.

#include <chrono>
#include <optional>

namespace esper::nissa {

class RemainingTime {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The clock starts, with this share of the run done (0 to 1). A later call changes nothing.
  void start(double done, TimePoint now);
  // Nothing before the clock started, and until more is done than then.
  std::optional<double> seconds(double done, TimePoint now) const;

 private:
  struct Start {
    double done;
    TimePoint at;
  };
  std::optional<Start> start_;
};

}  // namespace esper::nissa
