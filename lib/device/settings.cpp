#include "device/settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <malloc.h>

#include <cstdlib>
#include <string_view>

#include "base/error.h"

namespace esper::device {
namespace {

// glibc gives freed memory back to the kernel at each end of a step, and the next step pays for it, page by page.
void keep_freed_memory() {
  constexpr int kMappedFrom = 32 << 20;  // bytes; the largest that glibc takes
  constexpr int kKept = 256 << 20;       // bytes
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  if (tunables != nullptr && std::string_view(tunables).find("glibc.malloc.") != std::string_view::npos) return;
  ESPER_CHECK(mallopt(M_MMAP_THRESHOLD, kMappedFrom) == 1 && mallopt(M_TRIM_THRESHOLD, kKept) == 1,
              "mallopt refuses a value");
}

}  // namespace

void apply_settings(const config::DeviceConfig& config, c10::Device device) {
  keep_freed_memory();
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
