#pragma once
// NVIDIA's management library, which comes with the driver: loaded where it is, and done without where it is not.
// Nothing of CUDA is loaded. One thread. Source: the NVML API reference; only what it has kept since its version 4 is
// used.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"

namespace esper::base {

struct Gpu {
  std::int64_t index = 0;  // in the order of PCI addresses, as nvidia-smi shows it
  std::string name{};      // "NVIDIA H100 80GB HBM3"
  std::string uuid{};      // "GPU-..."
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;  // now: what no process has taken, whoever's it is
  bool operator==(const Gpu&) const = default;
};

inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

struct NvmlCalls;

class Nvml {
 public:
  // `library`: a name or path for dlopen(). Fails with the reason: there is no such library, or no driver.
  static Expected<Nvml> open(const std::string& library = kNvmlLibrary);
  Nvml(Nvml&&) noexcept;
  Nvml& operator=(Nvml&&) noexcept;
  ~Nvml();

  // All GPUs with what is free of them now. Fails with the reason where the driver does not answer.
  Expected<std::vector<Gpu>> gpus() const;
  // The share of a recent second or less in which the GPU at that PCI address ("0000:3b:00.0") computed something,
  // 0..1. Fails with the reason.
  Expected<double> utilization(const std::string& pci_address) const;

 private:
  explicit Nvml(std::unique_ptr<NvmlCalls> calls);
  std::unique_ptr<NvmlCalls> calls_;
};

}  // namespace esper::base
