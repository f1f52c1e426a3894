#include "support/failing_new.h"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "base/file_system.h"

namespace {

thread_local std::int64_t left = 0;  // until one fails; 0: none does

}  // namespace

void* operator new(std::size_t bytes) {
  if (left > 0 && --left == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace esper::test {

std::int64_t fail_each_allocation(const std::function<void()>& action) {
  for (std::int64_t nth = 1;; ++nth) {
    std::string unexpected;
    left = nth;
    try {
      action();
    } catch (const std::bad_alloc&) {
    } catch (const base::IoError&) {
    } catch (const base::Error& error) {
      left = 0;
      if (error.code() != base::ExitCode::kResources) unexpected = error.what();
    } catch (const std::exception& error) {
      left = 0;
      unexpected = error.what();
    }
    const bool has_failed = left == 0;
    left = 0;
    INFO("allocation " << nth);
    REQUIRE(unexpected == "");
    if (!has_failed) return nth - 1;
  }
}

}  // namespace esper::test
