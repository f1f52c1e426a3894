#include "base/nvml.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>
#include <string>

namespace esper::base {
namespace {

// The library's own types, as nvml.h declares them.
using Device = void*;
struct DeviceMemory {
  unsigned long long total, free, used;
};
struct DeviceUtilization {
  unsigned computing, copying;  // percent
};
constexpr int kSuccess = 0;

}  // namespace

struct NvmlCalls {
  void* library = nullptr;
  bool is_started = false;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, DeviceMemory*) = nullptr;
  int (*device_at)(const char*, Device*) = nullptr;
  int (*utilization)(Device, DeviceUtilization*) = nullptr;

  NvmlCalls() = default;
  NvmlCalls(const NvmlCalls&) = delete;
  NvmlCalls& operator=(const NvmlCalls&) = delete;
  ~NvmlCalls() {
    if (is_started) shutdown();
    if (library != nullptr) ::dlclose(library);
  }

  template <class Function>
  bool find(Function*& call, const char* symbol) {
    call = reinterpret_cast<Function*>(::dlsym(library, symbol));
    return call != nullptr;
  }
  bool find_all() {
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") && find(error_text, "nvmlErrorString") &&
           find(count, "nvmlDeviceGetCount_v2") && find(device, "nvmlDeviceGetHandleByIndex_v2") &&
           find(name, "nvmlDeviceGetName") && find(uuid, "nvmlDeviceGetUUID") &&
           find(memory, "nvmlDeviceGetMemoryInfo") && find(device_at, "nvmlDeviceGetHandleByPciBusId_v2") &&
           find(utilization, "nvmlDeviceGetUtilizationRates");
  }
  // Empty: it succeeded.
  std::string problem_of(const char* what, int code) const {
    return code == kSuccess ? "" : fmt::format("{}: {}", what, error_text(code));
  }
  std::string read(unsigned index, Gpu& gpu) const {
    constexpr std::size_t kMostText = 96;  // as nvml.h has it for both
    std::array<char, kMostText> name_text{}, uuid_text{};
    Device handle = nullptr;
    DeviceMemory bytes{};
    if (auto problem = problem_of("a GPU cannot be opened", device(index, &handle)); !problem.empty()) return problem;
    if (auto problem = problem_of("a GPU has no name", name(handle, name_text.data(), kMostText)); !problem.empty())
      return problem;
    if (auto problem = problem_of("a GPU has no UUID", uuid(handle, uuid_text.data(), kMostText)); !problem.empty())
      return problem;
    if (auto problem = problem_of("a GPU's memory is not known", memory(handle, &bytes)); !problem.empty())
      return problem;
    name_text.back() = uuid_text.back() = '\0';
    gpu = {index, name_text.data(), uuid_text.data(), static_cast<std::int64_t>(bytes.total),
           static_cast<std::int64_t>(bytes.free)};
    return "";
  }
};

Nvml::Nvml(std::unique_ptr<NvmlCalls> calls) : calls_(std::move(calls)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

Expected<Nvml> Nvml::open(const std::string& library) {
  auto calls = std::make_unique<NvmlCalls>();
  calls->library = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (calls->library == nullptr) return failure(fmt::format("there is no {}", library));
  if (!calls->find_all()) return failure(fmt::format("{} lacks functions: the driver is too old", library));
  const int code = calls->init();
  if (code != kSuccess) return failure(calls->problem_of(library.c_str(), code));
  calls->is_started = true;
  return Nvml(std::move(calls));
}

Expected<std::vector<Gpu>> Nvml::gpus() const {
  unsigned count = 0;
  if (auto problem = calls_->problem_of("GPUs cannot be counted", calls_->count(&count)); !problem.empty())
    return failure(problem);
  std::vector<Gpu> gpus(count);
  for (unsigned index = 0; index < count; ++index)
    if (auto problem = calls_->read(index, gpus[index]); !problem.empty()) return failure(problem);
  return gpus;
}

Expected<double> Nvml::utilization(const std::string& pci_address) const {
  Device handle = nullptr;
  DeviceUtilization rates{};
  int code = calls_->device_at(pci_address.c_str(), &handle);
  if (code == kSuccess) code = calls_->utilization(handle, &rates);
  if (code != kSuccess) return failure(calls_->problem_of("a GPU's utilization is not known", code));
  return rates.computing / 100.0;
}

}  // namespace esper::base
