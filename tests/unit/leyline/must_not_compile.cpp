// Compiled by ctest with ESPER_CASE = 0 (must compile) and 1, 2, 3 (must not).
#include "leyline/telemetry/telemetry.h"

using namespace esper::leyline;
using namespace esper::leyline::literals;

int main() {
#if ESPER_CASE == 0
  metric("tolaria.training.loss"_metric, 1);
  event("tolaria.early_stop"_event, Level::kInfo, {{"epoch", "3"}});
#elif ESPER_CASE == 1
  metric("tolaria.training.los"_metric, 1);  // misspelt
#elif ESPER_CASE == 2
  metric("tolaria.early_stop"_metric, 1);  // an event
#elif ESPER_CASE == 3
  event("tolaria.early_stop"_event, Level::kInfo, {{"epoc", "3"}});  // misspelt label
#endif
}
