#include "device/failing_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "base/fault.h"

namespace esper::device {
namespace {

constexpr const char* kAnyAllocation = "device.allocation";
constexpr const char* kAllocationInStep = "step.allocation";

bool is_to_fail() {
  const bool in_step = FailingSteps::in_step() && base::fault::hit(kAllocationInStep);
  return base::fault::hit(kAnyAllocation) || in_step;
}

class FailingAllocator final : public c10::Allocator {
 public:
  explicit FailingAllocator(c10::Allocator& real) : real_(real) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK(!is_to_fail(), "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
                " bytes. A fault point made it fail");
    return real_.allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { real_.copy_data(to, from, bytes); }

 private:
  c10::Allocator& real_;
};

}  // namespace

thread_local bool FailingSteps::in_step_ = false;

void install_failing_allocator_if_armed() {
  if (!base::fault::is_armed(kAnyAllocation) && !base::fault::is_armed(kAllocationInStep)) return;
  static FailingAllocator failing(*c10::GetCPUAllocator());
  c10::SetCPUAllocator(&failing, 1);  // above PyTorch's own
}

}  // namespace esper::device
