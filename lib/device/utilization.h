#pragma once
// How busy a GPU is, as nvidia-smi shows it. Training thread.

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/nvml.h"

namespace esper::device {

class UtilizationMeter {
 public:
  // pci_address: GpuFacts::pci_address; empty where the run has no GPU. library: as base::Nvml::open() takes it.
  explicit UtilizationMeter(const std::string& pci_address, base::Clock clock = {},
                            const std::string& library = base::kNvmlLibrary);

  // 0..1, over a recent second or less, in which the driver counts all processes. Asked at most once a second; between
  // two questions the last answer. Empty where there is no GPU, or the driver does not say.
  std::optional<double> read();

 private:
  std::string pci_address_;
  base::Clock clock_;
  std::optional<base::Nvml> nvml_;
  std::optional<double> last_;
  std::optional<base::Duration> asked_at_;
};

}  // namespace esper::device
