#include "support/faults/failing_new.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/file_system.h"
#include "base/memory_reserve.h"

namespace {

thread_local std::int64_t left = 0;  // until one fails; 0: none does

thread_local std::int64_t left_until_end = 0;  // allocations that memory is there for; 0: for all
thread_local bool at_end = false;
thread_local std::size_t given_back = 0;  // bytes that are left of what the process gave back

void take_from_given_back(std::size_t bytes) {
  while (given_back < bytes) {
    const auto handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
    given_back += esper::base::kReserveBlock;
  }
  given_back -= bytes;
}

}  // namespace

void* operator new(std::size_t bytes) {
  if (left > 0 && --left == 0) throw std::bad_alloc();
  if (left_until_end > 0 && --left_until_end == 0) at_end = true;
  if (at_end) take_from_given_back(bytes);
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

// The array forms call these by default, but not under a sanitizer, which has its own.
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t& none) noexcept { return operator new(bytes, none); }

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace esper::test {

MemoryEnds::MemoryEnds(std::int64_t nth) {
  given_back = 0;
  left_until_end = nth;
}
MemoryEnds::~MemoryEnds() {
  left_until_end = 0;
  at_end = false;
}
bool MemoryEnds::has_come() const { return at_end; }

std::int64_t fail_each_allocation(const std::function<void()>& action) {
  for (std::int64_t nth = 1;; ++nth) {
    std::string unexpected;
    std::int64_t not_reached = 0;
    const auto disarm = [&] { not_reached += std::exchange(left, 0); };
    left = nth;
    try {
      action();
    } catch (const std::bad_alloc&) {
    } catch (const base::IoError&) {
    } catch (const base::Error& error) {
      disarm();
      if (error.code() != base::ExitCode::kResources) unexpected = error.what();
    } catch (const std::exception& error) {
      disarm();
      unexpected = error.what();
    }
    disarm();
    INFO("allocation " << nth);
    REQUIRE(unexpected == "");
    if (not_reached > 0) return nth - 1;
  }
}

}  // namespace esper::test
