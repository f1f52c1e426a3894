#include "device/failing_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include "base/fault.h"

namespace esper::device {
namespace {

constexpr const char* kPoint = "device.allocation";

class FailingAllocator final : public c10::Allocator {
 public:
  explicit FailingAllocator(c10::Allocator& real) : real_(real) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    TORCH_CHECK(!base::fault::hit(kPoint), "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
                " bytes. Fault point ", kPoint);
    return real_.allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_.raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { real_.copy_data(to, from, bytes); }

 private:
  c10::Allocator& real_;
};

}  // namespace

void let_memory_fail_if_armed() {
  if (!base::fault::is_armed(kPoint)) return;
  static FailingAllocator failing(*c10::GetCPUAllocator());
  c10::SetCPUAllocator(&failing, 1);  // above PyTorch's own
}

}  // namespace esper::device
