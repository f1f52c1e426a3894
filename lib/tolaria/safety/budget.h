#pragma once
// How long a part of an epoch may take. Where the run file gives no limit, one is learned: three times the median of
// the last 20 epochs and a second more, once five are known. A slow epoch is reported, and nothing else follows from
// it. Plain data; any thread.

#include <optional>
#include <vector>

#include "base/quantity.h"

namespace esper::tolaria {

class Budget {
 public:
  // given: 0 learns it.
  explicit Budget(base::Duration given) : given_(given) {}

  // Takes how long an epoch's part took, in ms. The limit in ms that it exceeded; empty if it kept to it.
  std::optional<double> exceeded(double took_ms);

 private:
  std::optional<double> limit_ms() const;

  base::Duration given_;
  std::vector<double> took_ms_;  // the newest last
};

}  // namespace esper::tolaria
