#include "tamiyo/service/service_metrics.h"

#include "leyline/telemetry/telemetry.h"
#include "tamiyo/service/coverage_metrics.h"

namespace esper::tamiyo {

using leyline::metric;
using leyline::MetricValue;
using namespace leyline::literals;

namespace {

using Metrics = std::vector<MetricValue>;

constexpr double one_if(bool is_set) { return is_set ? 1 : 0; }

template <class Handle, class Value>
void add_if_known(Metrics& out, Handle handle, const std::optional<Value>& value) {
  if (value) out.push_back(metric(handle, static_cast<double>(*value)));
}

void add_assessment(Metrics& out, const leyline::Assessment& it) {
  add_if_known(out, "tamiyo.policy.value_estimate"_metric, it.value);
  add_if_known(out, "tamiyo.policy.risk_index"_metric, it.risk_index);
  add_if_known(out, "tamiyo.policy.risk_score"_metric, it.risk);
  add_if_known(out, "tamiyo.selection.seed_index"_metric, it.seed_index);
  add_if_known(out, "tamiyo.selection.seed_score"_metric, it.seed_score);
  add_if_known(out, "tamiyo.selection.blueprint_index"_metric, it.blueprint_index);
  add_if_known(out, "tamiyo.gnn.inference.latency_ms"_metric, it.network_ms);
  add_if_known(out, "tamiyo.gnn.feature_coverage"_metric, it.coverage);
  add_family_coverage(out, it);
  if (!it.blending) return;
  out.push_back(
      metric("tamiyo.blending.method_index"_metric, it.blending->method_index, {{"method", it.blending->method}}));
  out.push_back(metric("tamiyo.blending.schedule_start"_metric, it.blending->schedule_start));
  out.push_back(metric("tamiyo.blending.schedule_end"_metric, it.blending->schedule_end));
}

void add_safety(Metrics& out, const ServiceView& view) {
  const auto& [seed, blueprint, runtime, synthetic_pause] = view.evaluation.fallbacks;
  const auto& [breaker, mode, loss, held_back] = view.state;
  out.push_back(metric("tamiyo.conservative_mode"_metric, one_if(mode.is_active)));
  out.push_back(metric("tamiyo.breaker.inference_state"_metric, static_cast<double>(breaker.state)));
  out.push_back(metric("tamiyo.breaker.inference_failures"_metric, breaker.failures));
  out.push_back(metric("tamiyo.fallback.seed"_metric, one_if(seed)));
  out.push_back(metric("tamiyo.fallback.blueprint"_metric, one_if(blueprint)));
  out.push_back(metric("tamiyo.fallback.runtime"_metric, one_if(runtime)));
  out.push_back(metric("tamiyo.fallback.synthetic_pause"_metric, one_if(synthetic_pause)));
}

}  // namespace

std::vector<MetricValue> service_metrics(const ServiceView& view) {
  Metrics out;
  out.push_back(metric("tamiyo.validation_loss"_metric, view.observation.validation_loss));
  add_if_known(out, "tamiyo.loss_delta"_metric, view.evaluation.loss_delta);
  const auto& answer = view.evaluation.answer;
  if (was_asked(answer.kind)) out.push_back(metric("tamiyo.inference.latency_ms"_metric, answer.latency_ms));
  out.push_back(metric("tamiyo.late_answers_total"_metric, static_cast<double>(view.consultation.late_answers)));
  add_safety(out, view);
  if (view.evaluation.assessment) add_assessment(out, *view.evaluation.assessment);
  out.push_back(metric("tamiyo.field_reports.published_total"_metric, static_cast<double>(view.reports.published())));
  out.push_back(
      metric("tamiyo.field_reports.pending_total"_metric, static_cast<double>(view.reports.pending().size())));
  return out;
}

}  // namespace esper::tamiyo
