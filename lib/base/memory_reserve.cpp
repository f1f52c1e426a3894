#include "base/memory_reserve.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>

namespace esper::base {
namespace {

// Another copy of this file, in the program that loaded this library, may hold a reserve of its own.
std::new_handler earlier = nullptr;

struct Reserve {
  std::mutex mutex;
  std::array<void*, kReserveBlocks> blocks{};
  std::size_t held = 0;  // the last so many of them
};
Reserve reserve;

// Does not wait where nobody reads it.
void report_use() {
  constexpr std::string_view kText = "esper: out of memory: a reserve is used\n";
  pollfd error{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&error, 1, 0) != 1 || (error.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
}

// True if there was one for this allocation. Makes no allocation. A block is freed while those behind it are held, so
// the heap keeps it.
bool give_back_a_block() {
  const std::size_t kept = std::uncaught_exceptions() > 0 ? 0 : kReserveBlocks / 2;
  const std::lock_guard lock(reserve.mutex);
  if (reserve.held <= kept) return false;
  if (reserve.held == kReserveBlocks) report_use();
  std::free(reserve.blocks.at(kReserveBlocks - reserve.held));
  --reserve.held;
  return true;
}

void on_failure() {
  if (give_back_a_block()) return;
  if (earlier == nullptr) throw std::bad_alloc();
  earlier();
}

}  // namespace

void hold_memory_reserve() {
  const std::lock_guard lock(reserve.mutex);
  if (const auto installed = std::set_new_handler(on_failure); installed != on_failure) earlier = installed;
  while (reserve.held < kReserveBlocks) {
    void* const block = std::malloc(kReserveBlock);
    if (block == nullptr) return;
    ++reserve.held;
    reserve.blocks.at(kReserveBlocks - reserve.held) = block;
  }
}

}  // namespace esper::base
