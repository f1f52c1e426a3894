#pragma once
// What a training computes with beside its run file: settings of the process that change its speed or its bits.

#include <c10/core/Device.h>

#include <nlohmann/json_fwd.hpp>

#include "step/step_settings.h"

namespace esper::engine::bench {

// As torch has them now, in this process: {precision, threads, deterministic, loss_scaler {init_scale, ...} or
// null}; on CUDA also {tf32_matmul, tf32_cudnn, cudnn_benchmark, cudnn_deterministic, cublas_workspace}. The peer
// applies the same object to its own process, and answers with what it then finds there.
nlohmann::json compute_settings(const step::StepSettings& settings, c10::Device device);

}  // namespace esper::engine::bench
