#include "lanes/shape/lane_context.h"

#include "base/text/rounding.h"

namespace esper::lanes {

PreparationTime::PreparationTime(const LaneContext& context) : context_(context), begin_(context.services.clock.now()) {
  if (context.services.ledger != nullptr) scope_.emplace(*context.services.ledger, base::Owner::kCompile);
}

PreparationTime::~PreparationTime() {
  context_.figures.warmup_ms += base::milliseconds(context_.services.clock.now() - begin_);
}

}  // namespace esper::lanes
