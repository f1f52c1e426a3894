#pragma once
// What one epoch's network is worth on validation data: as it runs, and with single seeds turned off or fully on.

#include <map>
#include <string>

#include "tolaria/run.h"
#include "tolaria/validate.h"

namespace esper::tolaria {

struct Measurements {
  ValidationResult running;
  double running_ms = 0;                           // wall time of that pass
  std::map<std::string, double> accuracy_without;  // by seed id, its alpha at 0
  std::map<std::string, double> accuracy_at_full;  // by seed id, its alpha at 1
  bool interrupted = false;                        // a signal came in between; the rest was not measured
  std::string undone;                              // why the epoch's learning was taken back; empty: it stands
};

// One pass over the validation data with the network as it is. complete is false if a signal ended it early.
ValidationResult validation_pass(const Model& model, data::Loader& loader, torch::Device device);

// With the averaged parameters where the run keeps them. Changes nothing in the run.
Measurements measure_epoch(Run& run);

}  // namespace esper::tolaria
