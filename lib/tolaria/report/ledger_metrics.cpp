#include "tolaria/report/ledger_metrics.h"

#include <string>

#include "base/names.h"
#include "base/text/rounding.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using base::Owner;
using leyline::metric;
using leyline::MetricValue;
using namespace leyline::literals;

void add_ledger(std::vector<MetricValue>& out, base::Ledger& ledger) {
  const base::OwnerTimes times = ledger.settle();
  for (const auto& [owner, name] : names(Owner{})) {
    const auto time = times[index_of(owner)];
    if (time.count() == 0) continue;
    out.push_back(metric("tolaria.ledger.ms"_metric, base::milliseconds(time), {{"owner", std::string(name)}}));
  }
}

void add_step_times(std::vector<MetricValue>& out, base::Ledger& ledger) {
  const base::StepQuantiles steps = ledger.take_step_quantiles();
  if (steps.steps == 0) return;
  out.push_back(metric("tolaria.step.p50_us"_metric, steps.p50_us));
  out.push_back(metric("tolaria.step.p95_us"_metric, steps.p95_us));
}

}  // namespace esper::tolaria
