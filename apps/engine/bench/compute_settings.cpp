#include "engine/bench/compute_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "step/step_settings.h"

namespace esper::engine::bench {
namespace {

using nlohmann::json;

const char* precision_name(c10::ScalarType type) {
  if (type == c10::ScalarType::BFloat16) return "bfloat16";
  return type == c10::ScalarType::Half ? "float16" : "float32";
}

json scaler_json(const step::StepSettings& settings) {
  if (!settings.scales_loss()) return nullptr;
  const config::GradScalerConfig& scaler = settings.grad_scaler;
  return {{"init_scale", scaler.init_scale},
          {"growth_factor", scaler.growth_factor},
          {"backoff_factor", scaler.backoff_factor},
          {"growth_interval", scaler.growth_interval}};
}

}  // namespace

json compute_settings(const step::StepSettings& settings, c10::Device device) {
  const auto& context = at::globalContext();
  json out = {{"precision", precision_name(settings.compute_type)},
              {"threads", at::get_num_threads()},
              {"deterministic", context.deterministicAlgorithms()},
              {"loss_scaler", scaler_json(settings)}};
  if (!device.is_cuda()) return out;
  const char* workspace = std::getenv("CUBLAS_WORKSPACE_CONFIG");
  out["tf32_matmul"] = context.allowTF32CuBLAS();
  out["tf32_cudnn"] = context.allowTF32CuDNN();
  out["cudnn_benchmark"] = context.benchmarkCuDNN();
  out["cudnn_deterministic"] = context.deterministicCuDNN();
  out["cublas_workspace"] = workspace == nullptr ? json(nullptr) : json(workspace);
  return out;
}

}  // namespace esper::engine::bench
