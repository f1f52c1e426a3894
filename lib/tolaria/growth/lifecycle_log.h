#pragma once
// Seed events and decisions, as telemetry events and as records in the run's journal; the run's log of decisions.
// Training thread.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kasmina/network.h"
#include "leyline/command.h"
#include "leyline/decision_record.h"
#include "leyline/topology.h"
#include "step/model.h"
#include "tolaria/run/saver.h"

namespace esper::tolaria {

// The origin of events: a command, or empty for those of an epoch's end.
struct Cause {
  std::string decision;           // "GERMINATE: the reason"
  std::optional<double> took_ms;  // how long it blocked training
};

class LifecycleLog {
 public:
  // Starts with the model's present network. Borrows its arguments.
  LifecycleLog(const step::Model& model, const RunProgress& progress, Outbox& outbox, Saver& saver);

  // What is reported waits for publish().
  //
  // Events in order of occurrence. `change`: the resulting change of the optimizer's moments; reported with the graft,
  // the cull or the fold.
  void report(const std::vector<kasmina::LifecycleEvent>& happened, const step::StructureChange& change,
              const Cause& cause = {});
  void report(const leyline::Decision& decision);
  // What the run file orders and the decision could not do; the former reports it, too.
  void report_missed(const leyline::Decision& decision);
  // For the log of decisions.
  void record(leyline::DecisionRecord consulted) { consulted_.push_back(std::move(consulted)); }
  // What belongs between these.
  void report(leyline::TelemetryEvent event) { events_.push_back(std::move(event)); }
  // The end of the epoch is complete: emits and records what was reported. Without it a process that ends leaves no
  // trace of an epoch's end that it gave up.
  void publish();

 private:
  const step::Model& model_;
  const RunProgress& progress_;
  Outbox& outbox_;
  Saver& saver_;
  leyline::Topology topology_;  // after the last event; each record holds its hash
  std::vector<leyline::TelemetryEvent> events_;
  std::vector<std::string> records_;
  std::vector<leyline::DecisionRecord> consulted_;
};

// "GERMINATE: the reason", of a command and its decision.
std::string format_cause(const leyline::AdaptationCommand& command, const leyline::Decision& decision);

}  // namespace esper::tolaria
