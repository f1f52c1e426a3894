#pragma once
// Evaluates one epoch's network on validation data: as it runs, with single seeds fully on, and with seeds turned off.

#include <map>
#include <string>
#include <vector>

#include "tolaria/evaluation/counterfactual.h"
#include "tolaria/evaluation/validation_pass.h"
#include "tolaria/run/outbox.h"

namespace esper::tolaria {

struct Measurements {
  ValidationResult running;
  double running_ms = 0;                           // wall time of that pass
  lanes::LaneCounts batches{};                     // of such passes so far, by the lane that ran them
  std::map<std::string, double> accuracy_without;  // by seed id, at alpha 0; if due
  std::map<std::string, double> accuracy_at_full;  // by seed id, at alpha 1
  Counterfactual counterfactual;
  bool interrupted = false;               // by a signal; the rest was not measured
  std::string undone;                     // why the epoch was rolled back; else empty
  std::vector<std::string> undone_seeds;  // that are culled for it
};

// Measures the averaged model if the run averages parameters (evaluation/averaged_model.h). The run's state is
// unchanged; a measurement that exceeded its deadline is reported. epoch: the number of the epoch just trained, from 1.
// samples: of the running network.
Measurements measure_epoch(const Evaluation& evaluation, std::uint32_t epoch, Outbox& outbox,
                           PerSample samples = PerSample::kNotKept);

}  // namespace esper::tolaria
