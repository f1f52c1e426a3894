#pragma once
// What `esper evaluate` measures a checkpoint on: a part of the run's own data, or other data that are named to it.

#include "engine/saved_run.h"
#include "engine/training_setup.h"
#include "esper/engine_api.h"

namespace esper::engine {

struct MeasuredData {
  TrainingSetup setup;  // a fresh network of the checkpoint's shape; its data are normalised as the run's were
  EvaluatedPart part = EvaluatedPart::kValidation;  // of setup.data: what is to be measured
};

// Samples that are measured must not be among those that were trained on. Throws Error: kData for data of another kind,
// kCheckpoint for data that changed under the run, kConfig for test data that validated the run.
MeasuredData measured_data(const EvaluateRequest& request, const SavedRun& saved);

}  // namespace esper::engine
