#include "base/memory_reserve.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

namespace esper::base {
namespace {

std::atomic<void*> reserve{nullptr};

// May not allocate.
void give_up_reserve() {
  void* const held = reserve.exchange(nullptr);
  if (held == nullptr) throw std::bad_alloc();
  std::free(held);
  constexpr std::string_view kText = "esper: memory is short: the reserve is given up\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

}  // namespace

void hold_memory_reserve() {
  std::set_new_handler(give_up_reserve);
  if (reserve.load() != nullptr) return;
  void* const taken = std::malloc(kMemoryReserve);
  void* none = nullptr;
  if (!reserve.compare_exchange_strong(none, taken)) std::free(taken);
}

}  // namespace esper::base
