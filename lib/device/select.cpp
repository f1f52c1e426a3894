#include "device/select.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/expected.h"
#include "base/gpu_present.h"
#include "base/parse_number.h"
#include "device/cuda_table.h"

namespace esper::device {
namespace {

using base::Error;
using base::ExitCode;

// "cuda" or "cuda:N" to the GPU's index.
int parse_cuda_index(std::string_view kind) {
  if (kind == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  int index = -1;
  if (kind.starts_with(kPrefix)) index = base::parse_number<int>(kind.substr(kPrefix.size())).value_or(-1);
  constexpr int kMostCards = 128;  // c10::DeviceIndex is 8 bits wide
  if (index < 0 || index >= kMostCards) {
    throw Error(ExitCode::kConfig, "device.kind: \"" + std::string(kind) + "\" is not one of auto, cpu, cuda, cuda:N");
  }
  return index;
}

// That CUDA can be used.
base::Expected<void> check_cuda() {
  if (!base::gpu_present()) return base::failure(base::kNoGpu);
  const auto& module = load_cuda();
  if (!module.reason.empty()) return base::failure(module.reason);
  if (module.table->device_count() == 0) {
    return base::failure(
        "no GPU is usable: the driver is older than CUDA 13 requires, or CUDA_VISIBLE_DEVICES hides the GPUs");
  }
  return {};
}

// Programs name the device's type alone, which means the thread's current GPU.
c10::Device make_current(int index) {
  cuda().set_device(index);
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(index)};
}

}  // namespace

Selection select_device(std::string_view kind) {
  const c10::Device cpu(c10::DeviceType::CPU);
  if (kind == "cpu") return {cpu, ""};
  if (kind == "auto") {
    if (!base::gpu_present()) return {cpu, ""};
    const auto usable = check_cuda();
    if (usable) return {make_current(0), ""};
    return {cpu, "computing on the CPU although a GPU exists: " + usable.error()};
  }
  const int index = parse_cuda_index(kind);
  if (const auto usable = check_cuda(); !usable) {
    throw Error(ExitCode::kResources,
                fmt::format("device.kind: {}: {}; or set device.kind: cpu", kind, usable.error()));
  }
  if (index >= cuda().device_count()) {
    throw Error(ExitCode::kResources,
                fmt::format("device.kind: {}: this process sees {} GPUs, counted from 0", kind, cuda().device_count()));
  }
  return {make_current(index), ""};
}

}  // namespace esper::device
