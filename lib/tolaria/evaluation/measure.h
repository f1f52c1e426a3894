#pragma once
// What one epoch's network is worth on validation data: as it runs, with single seeds fully on, and with seeds turned
// off.

#include <map>
#include <string>

#include "tolaria/evaluation/counterfactual.h"
#include "tolaria/evaluation/validation_pass.h"
#include "tolaria/run/outbox.h"

namespace esper::tolaria {

struct Measurements {
  ValidationResult running;
  double running_ms = 0;                           // wall time of that pass
  std::map<std::string, double> accuracy_without;  // by seed id, its alpha at 0; where it was due
  std::map<std::string, double> accuracy_at_full;  // by seed id, its alpha at 1
  Counterfactual counterfactual;
  bool interrupted = false;  // a signal came in between; the rest was not measured
  std::string undone;        // why the epoch's learning was taken back; empty: it stands
};

// With the averaged parameters where the run keeps them. Changes nothing in the run; a measurement that was too late is
// reported. epoch: the number of the one that was just trained, from 1.
Measurements measure_epoch(const Evaluation& evaluation, std::uint32_t epoch, Outbox& outbox);

}  // namespace esper::tolaria
