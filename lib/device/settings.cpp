#include "device/settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace esper::device {
namespace {

// Whether glibc's thresholds are the user's: a tunable, or its older form.
bool has_malloc_settings() {
  constexpr std::array kOlder{"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"};
  const char* tunables = std::getenv("GLIBC_TUNABLES");
  return (tunables != nullptr && std::string_view(tunables).find("glibc.malloc.") != std::string_view::npos) ||
         std::ranges::any_of(kOlder, [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

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

// By the words of at::Context::alertNotDeterministic.
std::string nondeterministic_operator(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  if (of_torch == nullptr) return {};
  const std::string text = of_torch->what_without_backtrace();
  const auto end = text.find(" does not have a deterministic implementation");
  return end == std::string::npos ? std::string() : text.substr(0, end);
}

void keep_freed_memory() {
  constexpr int kMmapThreshold = 32 << 20;   // bytes
  constexpr int kTrimThreshold = 256 << 20;  // bytes
  if (has_malloc_settings()) return;
  // No error to report: an allocator in glibc's place may know neither.
  static_cast<void>(mallopt(M_MMAP_THRESHOLD, kMmapThreshold));
  static_cast<void>(mallopt(M_TRIM_THRESHOLD, kTrimThreshold));
}

}  // namespace esper::device
