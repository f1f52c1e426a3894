#include "device/settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>

namespace esper::device {

void apply_settings(const config::DeviceConfig& config, c10::Device device) {
  if (config.threads > 0) at::set_num_threads(config.threads);
  auto& context = at::globalContext();
  constexpr bool kWarnOnly = false;
  context.setDeterministicAlgorithms(config.deterministic, kWarnOnly);
  // torch would fill every fresh tensor with NaN in deterministic mode; nothing here reads memory that was not written.
  context.setDeterministicFillUninitializedMemory(false);
  if (!device.is_cuda()) return;
  context.setDeterministicCuDNN(config.deterministic);
  context.setBenchmarkCuDNN(!config.deterministic);
  context.setAllowTF32CuBLAS(config.tf32);
  context.setAllowTF32CuDNN(config.tf32);
  // cuBLAS is deterministic only with a workspace of fixed size, which it reads from the environment at its first use.
  constexpr int kKeepUsersChoice = 0;
  if (config.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", kKeepUsersChoice);
}

}  // namespace esper::device
