#include "device/utilization.h"

namespace esper::device {

UtilizationMeter::UtilizationMeter(const std::string& pci_address, base::Clock clock, const std::string& library)
    : pci_address_(pci_address), clock_(std::move(clock)) {
  if (pci_address_.empty()) return;
  if (auto nvml = base::Nvml::open(library)) nvml_ = std::move(*nvml);
}

std::optional<double> UtilizationMeter::read() {
  constexpr auto kPause = std::chrono::seconds(1);
  if (!nvml_) return std::nullopt;
  const auto now = clock_.now();
  if (asked_at_ && now - *asked_at_ < kPause) return last_;
  asked_at_ = now;
  const auto utilization = nvml_->utilization(pci_address_);
  last_ = utilization ? std::optional(*utilization) : std::nullopt;
  return last_;
}

}  // namespace esper::device
