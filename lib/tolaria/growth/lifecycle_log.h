#pragma once
// What happened to seeds and what was decided, as telemetry events and as records in the run's journal. Training
// thread.

#include <optional>
#include <string>
#include <vector>

#include "kasmina/network.h"
#include "leyline/command.h"
#include "leyline/topology.h"
#include "step/model.h"
#include "tolaria/run/saver.h"

namespace esper::tolaria {

// What lies behind events: a command, or nothing of this where they came with an epoch's end.
struct Cause {
  std::string decision;           // "GERMINATE: the reason"
  std::optional<double> took_ms;  // how long training stood still for it
};

class LifecycleLog {
 public:
  // Begins with the model's network as it is. Borrows all of it.
  LifecycleLog(const step::Model& model, const RunProgress& progress, Outbox& outbox, Saver& saver);

  // In the order in which it happened. `change`: what became of the optimizer's moments in the meantime; reported with
  // the graft, the cull or the fold.
  void report(const std::vector<kasmina::LifecycleEvent>& happened, const step::StructureChange& change,
              const Cause& cause = {});
  void report(const leyline::Decision& decision);

 private:
  const step::Model& model_;
  const RunProgress& progress_;
  Outbox& outbox_;
  Saver& saver_;
  leyline::Topology topology_;  // of the network after the last event; each record holds its hash
};

// "GERMINATE: the reason", of a command and the decision that it is part of.
std::string format_cause(const leyline::AdaptationCommand& command, const leyline::Decision& decision);

}  // namespace esper::tolaria
