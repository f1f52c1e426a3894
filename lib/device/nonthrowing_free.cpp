#include "device/nonthrowing_free.h"

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <atomic>
#include <exception>

namespace esper::device {
namespace {

// The allocator's own; null before the first tensor.
template <MemoryOf kMemory>
std::atomic<c10::DeleterFnPtr> own_free = nullptr;

template <MemoryOf kMemory>
void nonthrowing_free(void* context) noexcept {
  try {
    own_free<kMemory>.load()(context);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // Every call to the GPU reports the same.
  }
}

template <MemoryOf kMemory>
void replace_free(c10::DataPtr& memory) {
  const c10::DeleterFnPtr found = memory.get_deleter(), replacement = &nonthrowing_free<kMemory>;
  if (found == nullptr || found == replacement) return;
  c10::DeleterFnPtr own = nullptr;
  if (!own_free<kMemory>.compare_exchange_strong(own, found) && own != found) return;
  [[maybe_unused]] const bool is_replaced = memory.compare_exchange_deleter(found, replacement);
}

}  // namespace

void make_free_nonthrowing(const at::Tensor& tensor, MemoryOf memory) {
  c10::DataPtr& data = tensor.storage().mutable_data_ptr();
  if (memory == MemoryOf::kCard) return replace_free<MemoryOf::kCard>(data);
  replace_free<MemoryOf::kHost>(data);
}

}  // namespace esper::device
