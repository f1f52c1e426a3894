#pragma once
// An evaluation as metrics. Pure functions.

#include <vector>

#include "leyline/observation.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tamiyo/service/consultation.h"
#include "tamiyo/service/evaluation.h"
#include "tamiyo/service/field_reports.h"
#include "tamiyo/service/service_state.h"

namespace esper::tamiyo {

struct ServiceView {
  const leyline::Observation& observation;
  const Evaluation& evaluation;
  const ServiceState& state;
  const ConsultationFigures& consultation;
  const FieldReports& reports;
};
std::vector<leyline::MetricValue> service_metrics(const ServiceView& view);

}  // namespace esper::tamiyo
