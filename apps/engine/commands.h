#pragma once
// The commands that need tensors. Each returns the exit status; errors are thrown to the front.

#include "esper/engine_api.h"

namespace esper::engine {

int run(const TrainRequest& request);
int run(const EvaluateRequest& request);
int run(const ReproRequest& request);
int run(const ImportRequest& request);
int run(const PredictRequest& request);
int run(const ExportRequest& request);
int run(const ForkRequest& request);
int run(const ExplainRequest& request);
int run(const ReplayRequest& request);
int run(const SwapRequest& request);
int run(const ServeRequest& request);
int run(const ImitateRequest& request);
int run(const ShowPolicyRequest& request);
int run(const ShowDataRequest& request);
int run(const DoctorRequest& request);
int run(const BenchRequest& request);
int run(const SaveBaselineRequest& request);
int run(const CheckBaselineRequest& request);

}  // namespace esper::engine
