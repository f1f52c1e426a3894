#pragma once
// Two runs of one training, compared to the last bit. Any thread.

#include <cstddef>
#include <vector>

#include "drill/aspect.h"
#include "drill/run_contents.h"

namespace esper::drill {

// What was compared, in the order of a report. A process that is killed between saving an epoch and reporting it leaves
// a gap in telemetry: as many epochs of `other` as `most_unreported` may have less than the reference reports, which is
// a remark; more are a difference, and so is whatever is reported otherwise.
std::vector<Aspect> compare_runs(const RunContents& reference, const RunContents& other, std::size_t most_unreported);

bool are_equal(const std::vector<Aspect>& aspects);

}  // namespace esper::drill
