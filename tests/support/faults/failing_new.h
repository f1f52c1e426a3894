#pragma once
// operator new of the test program, with a lack of memory where a test wants it.

#include <cstdint>
#include <functional>

namespace esper::test {

// Carries the action out once for each of its allocations, which fails, on this thread, and once more without a
// failure. The action may end with std::bad_alloc, base::Error{kResources} or base::IoError, or well; anything else
// fails the test. The number of allocations that failed.
std::int64_t fail_each_allocation(const std::function<void()>& action);

// While it lives, memory has run out for this thread from its nth allocation on: a further one gets what the process
// gives back (std::get_new_handler; base/memory_reserve.h), or throws.
class MemoryEnds {
 public:
  explicit MemoryEnds(std::int64_t nth);
  ~MemoryEnds();
  MemoryEnds(const MemoryEnds&) = delete;
  MemoryEnds& operator=(const MemoryEnds&) = delete;
  bool has_come() const;
};

}  // namespace esper::test
